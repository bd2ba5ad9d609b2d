// What of a target's output is the program's.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <string>

#include "tuner/child.h"

namespace tw::tuner {

inline void show_error(const std::string& line) {
  fmt::print(stderr, "{}\n", line);
}

/// Lines that begin with '{' are; greetings, warnings of wrappers and the like are shown to people.
inline void sort_line(const std::string& line, const Line& on_line) {
  const std::string text =
      !line.empty() && line.back() == '\r' ? line.substr(0, line.size() - 1) : line;
  if (!text.empty() && text.front() == '{') {
    on_line(text);
  } else {
    show_error(text);
  }
}

}  // namespace tw::tuner
