// Threads that share work: those of OpenMP, and our own.
#include "integrations/ggml/team.h"

#include <dlfcn.h>
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "integrations/common/own_team.h"
#include "support/environment.h"

namespace tw::ggml {
namespace {

/// Two phases, of which the second reads what the first has written.
struct TwoPhases {
  explicit TwoPhases(size_t parts) : first(parts), sums(parts) { done.start(parts); }

  static void work(void* data) {
    auto& job = *static_cast<TwoPhases*>(data);
    const size_t parts = job.first.size();
    ++job.threads;
    for (size_t i = job.next_first++; i < parts; i = job.next_first++) {
      job.first[i] = i + 1;
      job.done.finish_one();
    }
    job.done.wait_for_all();
    for (size_t i = job.next_sum++; i < parts; i = job.next_sum++) {
      for (const size_t value : job.first) job.sums[i] += value;
    }
  }

  std::vector<size_t> first, sums;
  std::atomic<size_t> next_first{0}, next_sum{0}, threads{0};
  Progress done;
};

void expect_two_phases(int threads, size_t parts) {
  TwoPhases job(parts);
  run_team(threads, TwoPhases::work, &job);
  EXPECT_EQ(job.sums, std::vector<size_t>(parts, parts * (parts + 1) / 2));
  EXPECT_GE(job.threads, 1U);
  EXPECT_LE(job.threads, static_cast<size_t>(threads));
}

void expect_all_sizes(int rounds) {
  for (int round = 0; round < rounds; ++round) {
    for (const int threads : {1, 2, 3, 17}) {
      for (const size_t parts : {1, 5, 64}) expect_two_phases(threads, parts);
    }
  }
}

/// 1: one of its libraries is loaded for all of the process.
class Team : public testing::TestWithParam<bool> {
 protected:
  void SetUp() override {
    if (GetParam() && dlopen("libgomp.so.1", RTLD_LAZY | RTLD_GLOBAL) == nullptr) {
      GTEST_SKIP() << dlerror();
    }
    ASSERT_EQ(choose_team(GetParam()), GetParam());
  }
  void TearDown() override { choose_team(false); }
};

TEST_P(Team, DoesEveryPartInOrder) {
  EXPECT_GE(default_threads(), 1);
  expect_all_sizes(50);
  const Gathered threads;
  expect_all_sizes(50);
}

TEST_P(Team, SharesOutEveryPartOnce) {
  for (const int threads : {1, 2, 40}) {
    std::vector<std::atomic<int>> times(1000);
    share_out(threads, times.size(), [&](size_t i) { ++times[i]; });
    for (const auto& each : times) EXPECT_EQ(each, 1);
  }
  share_out(3, 0, [](size_t) { FAIL() << "there is none"; });
}

TEST_P(Team, WaitsForWhatOthersHaveBegun) {
  std::atomic<int> done{0};  // outlives what would not be waited for
  for (int round = 1; round <= 10; ++round) {
    share_out(2, 2, [&](size_t i) {  // the caller, who comes first, has less to do
      std::this_thread::sleep_for(std::chrono::milliseconds(2 + 8 * i));
      ++done;
    });
    ASSERT_EQ(done, 2 * round);
  }
}

TEST_P(Team, CallersComeAtTheSameTime) {
  std::vector<std::thread> callers;
  for (int i = 0; i < 6; ++i) {
    callers.emplace_back([i] {
      if (i % 2 == 0) {
        const Gathered threads;
        expect_all_sizes(20);
      } else {
        expect_all_sizes(20);
      }
    });
  }
  for (std::thread& caller : callers) caller.join();
}

TEST_P(Team, PartsCallTeamsThemselves) {
  const Gathered threads;
  std::atomic<int> inner{0};
  share_out(3, 20, [&](size_t) { share_out(2, 10, [&](size_t) { ++inner; }); });
  EXPECT_EQ(inner, 200);
}

INSTANTIATE_TEST_SUITE_P(Of, Team, testing::Bool(), [](const auto& info) {
  return std::string(info.param ? "OpenMp" : "OurOwn");
});

TEST(OwnTeam, HasNoMoreThreadsThanCores) {
  ASSERT_FALSE(choose_team(false));
  EXPECT_EQ(default_threads(), available_cores());
  for (int round = 0; round < 100; ++round) {
    TwoPhases job(200);
    run_team(1000, TwoPhases::work, &job);
    EXPECT_LE(job.threads, static_cast<size_t>(available_cores()));
  }
}

TEST(OwnTeam, WhereThereIsNoLibraryOfOpenMps) {
  if (dlopen("libgomp.so.1", RTLD_LAZY | RTLD_NOLOAD) != nullptr) GTEST_SKIP() << "it is loaded";
  EXPECT_FALSE(choose_team(true));
  expect_all_sizes(1);
}

/// Returns when a thread beside the caller has taken part.
void wait_for_a_second_thread() {
  for (std::atomic<int> threads{0}; threads < 2;) {
    threads = 0;
    const auto come = [](void* data) { ++*static_cast<std::atomic<int>*>(data); };
    run_team(2, come, &threads);
  }
}

// Nobody but the thread that forks is in the new process, which must neither wait for the others
// nor, at its end, join them, and needs new ones.
TEST(OwnTeam, IsMadeAnewAfterAFork) {
  ASSERT_FALSE(choose_team(false));
  expect_two_phases(2, 10);
  const Gathered threads;
  expect_two_phases(2, 10);
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    expect_all_sizes(3);
    if (available_cores() > 1) wait_for_a_second_thread();
    const int status = testing::Test::HasFailure() ? 1 : 0;
    // The search for leaks takes what threads had that are not in this process for lost.
    if (test::is_sanitized) std::_Exit(status);
    std::exit(status);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  expect_all_sizes(3);
}

}  // namespace
}  // namespace tw::ggml
