// Waiting for another thread: awake for a short time, then asleep, so that the thread waited for
// has a core even where there are more threads than cores.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tw {

/// What waking a thread costs, about: who has waited as long in vain may as well sleep.
inline constexpr std::chrono::microseconds kAwake{50};

inline void relax() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("isb" ::: "memory");  // longer than `yield`, which most cores ignore
#endif
}

/// Awake, for as long as `goes_on()` and no longer than kAwake; true: the value has changed.
template <class GoesOn>
bool changes_soon(const std::atomic<uint32_t>& value, uint32_t from, GoesOn goes_on) {
  constexpr int kBetweenLooksAtTheClock = 32;
  const auto end = std::chrono::steady_clock::now() + kAwake;
  while (goes_on()) {
    for (int i = 0; i < kBetweenLooksAtTheClock; ++i) {
      if (value.load(std::memory_order_acquire) != from) return true;
      relax();
    }
    if (std::chrono::steady_clock::now() >= end) break;
  }
  return value.load(std::memory_order_acquire) != from;
}

/// Until the value is another; who changes it must notify.
inline void wait_while(const std::atomic<uint32_t>& value, uint32_t is) {
  if (!changes_soon(value, is, [] { return true; })) value.wait(is, std::memory_order_acquire);
}

}  // namespace tw
