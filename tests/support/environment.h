// Environment variables of this process, on every system.
#pragma once

#include <cstdlib>

namespace tw::test {

/// An empty value is none on Windows, and means none to the runtime.
inline void set_environment(const char* name, const char* value) {
#if defined(_WIN32)
  _putenv_s(name, value);
#else
  ::setenv(name, value, 1);
#endif
}

/// For `scripts/test --long`.
inline bool is_long() {
  return std::getenv("TILEWRIGHT_LONG") != nullptr;
}

}  // namespace tw::test
