// The race's arithmetic, in a time of the tests' own: calls take as long as they say.
#include "tuner/program/contest.h"

#include <gtest/gtest.h>

namespace tw::tuner {
namespace {

/// Time that passes only in calls.
class Time {
 public:
  std::function<void()> spin(double seconds) {
    return [this, seconds] { now_ += seconds; };
  }
  Surroundings undisturbed() {
    return {[] { return 3.0; }, [] { return 0L; }, [this] { return now_; }};
  }

 private:
  double now_ = 0;
};

TEST(Contest, RanksByPairedRatios) {
  Time time;
  Contest contest(time.undisturbed());
  const size_t slow = contest.enter(time.spin(400e-6));
  const size_t fast = contest.enter(time.spin(200e-6));
  const size_t slowest = contest.enter(time.spin(800e-6));
  for (int i = 0; i < 9; ++i) contest.round(0.001);
  EXPECT_EQ(contest.leader(), fast);
  EXPECT_NEAR(contest.ratio(fast, slow).low, 2, 1e-3);
  EXPECT_NEAR(contest.ratio(slowest, slow).high, 0.5, 1e-3);
  EXPECT_TRUE(contest.separated());
  contest.drop(1.5, 9);
  EXPECT_TRUE(contest.is_left(slow));  // the baseline stays
  EXPECT_FALSE(contest.is_left(slowest));
  EXPECT_EQ(contest.left(), 2U);
  EXPECT_NEAR(contest.times(fast).median, 200e3, 1);
  EXPECT_LE(contest.times(fast).least, contest.times(fast).p20);
}

TEST(Contest, NoIntervalBelowSixRounds) {
  Time time;
  Contest contest(time.undisturbed());
  contest.enter(time.spin(1e-4));
  contest.enter(time.spin(2e-4));
  for (int i = 0; i < 5; ++i) contest.round(0);
  EXPECT_LT(contest.ratio(1, 0).low, 0.01);
  EXPECT_FALSE(contest.separated());
  contest.round(0);
  EXPECT_GT(contest.ratio(1, 0).low, 0.01);
}

TEST(Contest, LaterEntrantsAreComparedByTheBaseline) {
  Time time;
  Contest contest(time.undisturbed());
  contest.enter(time.spin(2e-4));
  const size_t early = contest.enter(time.spin(4e-4));
  for (int i = 0; i < 7; ++i) contest.round(0);
  contest.leave(early);
  const size_t late = contest.enter(time.spin(1e-4));
  EXPECT_EQ(contest.ratio(late, 0).rounds, 0U);
  for (int i = 0; i < 7; ++i) contest.round(0);
  EXPECT_EQ(contest.ratio(late, early).rounds, 0U);  // never in one round
  EXPECT_EQ(contest.ratio(late, 0).rounds, 7U);
  EXPECT_EQ(contest.leader(), late);
  contest.drop(0.1, 1);
  EXPECT_TRUE(contest.is_left(late));
}

TEST(Contest, RoundsInWhichTheClockMovedAreLeftOut) {
  int asked = 0;
  Time time;
  Surroundings around = time.undisturbed();
  around.clock = [&] { return ++asked % 8 == 0 ? 2.0 : 3.0; };
  Contest contest(around);  // every fourth round ends slower
  contest.enter(time.spin(1e-5));
  contest.enter(time.spin(1e-5));
  for (int i = 0; i < 40; ++i) contest.round(0);
  EXPECT_EQ(contest.dropped_rounds(), 10U);
  EXPECT_EQ(contest.ratio(1, 0).rounds, 30U);
  EXPECT_EQ(contest.ghz(), 3.0);
}

}  // namespace
}  // namespace tw::tuner
