#include "integrations/common/refused.h"

#include <fmt/format.h>

#include <charconv>
#include <system_error>

namespace tw {

int threads_option(std::string_view value) {
  int threads = 0;
  const auto [end, status] = std::from_chars(value.data(), value.data() + value.size(), threads);
  const bool is_number = status == std::errc() && end == value.data() + value.size();
  constexpr int kMost = 1024;
  if (!is_number || threads < 1 || threads > kMost) {
    throw Refused(fmt::format("option \"threads\" is \"{}\"; 1 to {} is legal", value, kMost));
  }
  return threads;
}

}  // namespace tw
