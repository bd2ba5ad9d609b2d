// How often a text has another one in it.
#pragma once

#include <cstddef>
#include <string>

namespace tw {

inline size_t count_of(const std::string& word, const std::string& text) {
  size_t count = 0;
  for (size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 1)) ++count;
  return count;
}

}  // namespace tw
