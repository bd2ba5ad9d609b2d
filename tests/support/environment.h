// What a test program runs in: environment variables, on every system, and sanitizers.
#pragma once

#include <cstdlib>
#include <string>

namespace tw::test {

/// An empty value is none on Windows, and means none to the runtime.
inline void set_environment(const char* name, const char* value) {
#if defined(_WIN32)
  _putenv_s(name, value);
#else
  ::setenv(name, value, 1);
#endif
}

inline std::string from_environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : otherwise;
}

/// For `scripts/test --long`.
inline bool is_long() {
  return std::getenv("TILEWRIGHT_LONG") != nullptr;
}

// GCC says it by a macro, clang by a feature.
#if defined(__has_feature)
#define TW_SANITIZED __has_feature(address_sanitizer)
#elif defined(__SANITIZE_ADDRESS__)
#define TW_SANITIZED 1
#else
#define TW_SANITIZED 0
#endif
/// By which tests become some 20 times as slow.
constexpr bool is_sanitized = TW_SANITIZED;

}  // namespace tw::test
