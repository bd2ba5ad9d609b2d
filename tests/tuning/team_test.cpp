// Threads that share slices.
#include "measure/team.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "measure/machine.h"

namespace tw::measure {
namespace {

/// Helpers on the cores that there are, several on one if there are few.
std::vector<int> helpers(size_t count) {
  const std::vector<int> cores = allowed_cores();
  std::vector<int> chosen;
  for (size_t i = 0; i < count; ++i) chosen.push_back(cores[i % cores.size()]);
  return chosen;
}

TEST(Team, EachSliceOnce) {
  for (const size_t threads : {0, 1, 3}) {
    Team team(helpers(threads));
    for (const size_t slices : {0, 1, 2, 100}) {
      std::vector<std::atomic<int>> calls(slices);
      for (int round = 0; round < 200; ++round) {
        team.share(slices, [&](size_t i) { ++calls[i]; });
        for (const auto& count : calls) ASSERT_EQ(count, round + 1);
      }
    }
  }
}

TEST(Team, SlicesRunOnAllThreads) {
  Team team(helpers(1));
  std::mutex adding;
  std::set<std::thread::id> threads;
  std::vector<int> calls(2);
  std::atomic<int> running{0};
  team.share(2, [&](size_t i) {
    {
      const std::lock_guard lock(adding);
      threads.insert(std::this_thread::get_id());
      ++calls[i];
    }
    ++running;
    while (running < 2) std::this_thread::yield();  // nobody can have both
  });
  EXPECT_EQ(threads.size(), 2U);
  EXPECT_EQ(calls, (std::vector<int>{1, 1}));
}

TEST(Team, WhatASliceThrowsReachesTheCaller) {
  Team team(helpers(1));
  for (const size_t bad : {0, 1, 7}) {
    EXPECT_THROW(team.share(8,
                            [&](size_t i) {
                              if (i == bad) throw std::runtime_error("no");
                            }),
                 std::runtime_error);
    size_t calls = 0;
    std::mutex counting;
    team.share(8, [&](size_t) {
      const std::lock_guard lock(counting);
      ++calls;
    });
    EXPECT_EQ(calls, 8U);
  }
}

TEST(Team, ACoreThatMayNotBeUsed) {
  Team team({100000});
  EXPECT_THROW(team.share(1, [](size_t) {}), std::runtime_error);
}

}  // namespace
}  // namespace tw::measure
