// Lines on stderr: a plug-in has no other way to be heard.
#pragma once

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <utility>

namespace tw {

template <class... Parts>
void message(fmt::format_string<Parts...> text, Parts&&... parts) {
  const std::string line = "tilewright: " + fmt::format(text, std::forward<Parts>(parts)...) + "\n";
  std::fputs(line.c_str(), stderr);
}

inline bool is_set(const char* variable, const char* value) {
  const char* found = std::getenv(variable);
  return found != nullptr && std::strcmp(found, value) == 0;
}

}  // namespace tw
