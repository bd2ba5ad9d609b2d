// Children that end in every way.
#include "tuner/program/watched.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <stdexcept>
#include <vector>

namespace tw::tuner {
namespace {

using Child = std::function<void(Watch&, const std::function<void(std::string)>&)>;

struct Result {
  Ended ended;
  std::vector<std::string> lines;
};

Result run(const Child& child, double patience = 30) {
  Result result;
  result.ended = run_watched(
      child, [&](const std::string& line) { result.lines.push_back(line); }, patience);
  return result;
}

TEST(Watched, LinesComeInOrder) {
  const Result result = run([](Watch&, const auto& emit) {
    for (int i = 0; i < 1000; ++i) emit(std::to_string(i) + std::string(i * 7 % 300, 'x'));
  });
  EXPECT_EQ(result.ended.ending, Ending::done);
  ASSERT_EQ(result.lines.size(), 1000U);
  EXPECT_EQ(result.lines[999].rfind("999x", 0), 0U);
}

TEST(Watched, ACrashNamesItsSignalAndWhoRan) {
  const Result result = run([](Watch& watch, const auto& emit) {
    emit("before");
    watch.entrant = 7;
    std::signal(SIGILL, SIG_DFL);
    std::raise(SIGILL);
  });
  EXPECT_EQ(result.ended.ending, Ending::crash);
  EXPECT_EQ(result.ended.detail, "SIGILL");
  EXPECT_EQ(result.ended.entrant, 7U);
  EXPECT_EQ(result.lines, std::vector<std::string>{"before"});
}

TEST(Watched, SilenceIsATimeout) {
  const Result result = run(
      [](Watch& watch, const auto&) {
        watch.entrant = 3;
        for (;;) pause();
      },
      0.3);
  EXPECT_EQ(result.ended.ending, Ending::timeout);
  EXPECT_EQ(result.ended.entrant, 3U);
}

TEST(Watched, BeatsKeepItAlive) {
  const Result result = run(
      [](Watch& watch, const auto&) {
        for (int i = 0; i < 10; ++i) {
          usleep(100000);
          ++watch.beats;
        }
      },
      0.8);
  EXPECT_EQ(result.ended.ending, Ending::done);
}

TEST(Watched, AnExceptionIsAFailure) {
  const Result result = run([](Watch&, const auto&) { throw std::runtime_error("no memory"); });
  EXPECT_EQ(result.ended.ending, Ending::crash);
  EXPECT_EQ(result.ended.detail, "exit status 1");
}

}  // namespace
}  // namespace tw::tuner
