// The race's arithmetic, on entrants whose calls take no time: what counts is what is left out, who
// is dropped and how wide the intervals are. Entrants spin for stated times where time matters.
#include "tuner/program/contest.h"

#include <gtest/gtest.h>

#include "measure/machine.h"

namespace tw::tuner {
namespace {

std::function<void()> spin(double seconds) {
  return [seconds] {
    const double end = measure::now() + seconds;
    while (measure::now() < end) {
    }
  };
}

Surroundings undisturbed() {
  return {[] { return 3.0; }, [] { return 0L; }};
}

TEST(Contest, RanksByPairedRatios) {
  Contest contest(undisturbed());
  const size_t slow = contest.enter(spin(400e-6));
  const size_t fast = contest.enter(spin(200e-6));
  const size_t slowest = contest.enter(spin(800e-6));
  for (int i = 0; i < 9; ++i) contest.round(0.001);
  EXPECT_EQ(contest.leader(), fast);
  EXPECT_GT(contest.ratio(fast, slow).low, 1.2);
  EXPECT_LT(contest.ratio(slowest, slow).high, 0.9);
  EXPECT_TRUE(contest.separated());
  contest.drop(1.5, 9);
  EXPECT_TRUE(contest.is_left(slow));  // the baseline stays
  EXPECT_FALSE(contest.is_left(slowest));
  EXPECT_EQ(contest.left(), 2U);
  EXPECT_GE(contest.times(fast).median, 200e3);
  EXPECT_LE(contest.times(fast).least, contest.times(fast).p20);
}

TEST(Contest, NoIntervalBelowSixRounds) {
  Contest contest(undisturbed());
  contest.enter(spin(1e-4));
  contest.enter(spin(2e-4));
  for (int i = 0; i < 5; ++i) contest.round(0);
  EXPECT_LT(contest.ratio(1, 0).low, 0.01);
  EXPECT_FALSE(contest.separated());
  contest.round(0);
  EXPECT_GT(contest.ratio(1, 0).low, 0.01);
}

TEST(Contest, LaterEntrantsAreComparedByTheBaseline) {
  Contest contest(undisturbed());
  contest.enter(spin(2e-4));
  const size_t early = contest.enter(spin(4e-4));
  for (int i = 0; i < 7; ++i) contest.round(0);
  contest.leave(early);
  const size_t late = contest.enter(spin(1e-4));
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
  Contest contest({[&] { return ++asked % 8 == 0 ? 2.0 : 3.0; },
                   [] { return 0L; }});  // every fourth round ends slower
  contest.enter(spin(1e-5));
  contest.enter(spin(1e-5));
  for (int i = 0; i < 40; ++i) contest.round(0);
  EXPECT_GE(contest.dropped_rounds(), 10U);
  EXPECT_LE(contest.ratio(1, 0).rounds, 30U);
  EXPECT_EQ(contest.ghz(), 3.0);
}

}  // namespace
}  // namespace tw::tuner
