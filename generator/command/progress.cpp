#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>

#include "command/tune.h"

namespace tw {
namespace {

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string time_left(double elapsed, double done, double budget) {
  double left = budget - elapsed;
  if (budget < 0) left = done > 0.02 ? elapsed / done - elapsed : -1;
  return left < 0 ? "" : fmt::format(", {:.0f} s left", std::max(left, 0.0));
}

}  // namespace

Progress::Progress(double budget)
    : start_(now()), budget_(budget), terminal_(isatty(STDERR_FILENO) != 0) {}

void Progress::show(double done, const std::string& text) {
  const int tenth = static_cast<int>(done * 10);
  if (!terminal_ && tenth == tenth_) return;
  tenth_ = tenth;
  const std::string left = time_left(now() - start_, done, budget_);
  if (!terminal_) {
    fmt::print(stderr, "{:3.0f} %{}: {}\n", done * 100, left, text);
    return;
  }
  constexpr int bar = 24;
  const int full = std::clamp(static_cast<int>(done * bar), 0, bar);
  std::string line = fmt::format("[{}{}] {:3.0f} %{}: {}", std::string(full, '#'),
                                 std::string(bar - full, '.'), done * 100, left, text);
  const size_t width = line.size();
  line.resize(std::max(width, width_), ' ');  // over what stood there
  width_ = width;
  fmt::print(stderr, "\r{}", line);
  std::fflush(stderr);
}

void Progress::end() {
  if (terminal_ && width_ > 0) fmt::print(stderr, "\r{}\r", std::string(width_, ' '));
}

}  // namespace tw
