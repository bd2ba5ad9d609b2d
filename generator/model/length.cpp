#include "model/length.h"

namespace tw {

std::string to_string(Length length) {
  std::string text;
  auto add = [&](int64_t n, const char* unit) {
    if (n == 0) return;
    if (!text.empty() && n > 0) text += '+';
    text += std::to_string(n) + unit;
  };
  add(length.fixed, "");
  add(length.vl, "vl");
  add(length.svl, "svl");
  return text.empty() ? "0" : text;
}

int64_t ratio(Length whole, Length part) {
  auto quotient = [](int64_t a, int64_t b) -> int64_t { return b != 0 && a % b == 0 ? a / b : -1; };
  int64_t r = -1;
  if (part.fixed != 0) {
    r = quotient(whole.fixed, part.fixed);
  } else if (part.vl != 0) {
    r = quotient(whole.vl, part.vl);
  } else if (part.svl != 0) {
    r = quotient(whole.svl, part.svl);
  }
  return r >= 0 && part * r == whole ? r : -1;
}

}  // namespace tw
