// What to do with a request that nothing can serve.
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

namespace tw {

/// Throws an error that says why, and what would be legal.
template <typename Error = std::invalid_argument, typename... Args>
[[noreturn]] void reject(fmt::format_string<Args...> why, Args&&... args) {
  throw Error(fmt::format(why, std::forward<Args>(args)...));
}

}  // namespace tw
