#include "emit/parallel.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace tw {
namespace {

using std::chrono::milliseconds;

TEST(Parallel, CallsEachOnce) {
  std::vector<std::atomic<int>> calls(1000);
  for_each_in_parallel(calls.size(), [&](size_t i) { ++calls[i]; });
  for (const std::atomic<int>& count : calls) EXPECT_EQ(count, 1);
  for_each_in_parallel(0, [](size_t) { FAIL(); });
}

TEST(Parallel, ThrowsWhatTheFirstFailureThrows) {
  // The 7th fails before others have, and after them.
  for (const auto& [seventh, eighth] : {std::pair{50, 0}, {20, 60}}) {
    std::atomic<int> before = 0;
    std::string found;
    try {
      for_each_in_parallel(100, [&](size_t i) {
        if (i < 7) ++before;
        std::this_thread::sleep_for(milliseconds(i == 7 ? seventh : i == 8 ? eighth : 0));
        if (i >= 7) throw std::runtime_error(std::to_string(i));
      });
    } catch (const std::runtime_error& error) {
      found = error.what();
    }
    EXPECT_EQ(found, "7");
    EXPECT_EQ(before, 7);
  }
}

TEST(Parallel, RunsSeveralAtATime) {
  std::atomic<size_t> running = 0;
  const size_t wanted = std::thread::hardware_concurrency() > 1 ? 2 : 1;
  for_each_in_parallel(wanted, [&](size_t) {
    ++running;
    for (int i = 0; i < 10000 && running < wanted; ++i) {
      std::this_thread::sleep_for(milliseconds(1));
    }
    EXPECT_EQ(running, wanted);
  });
}

}  // namespace
}  // namespace tw
