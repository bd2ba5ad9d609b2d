// The loops that limits come from run, those of tiles too, and what is printed of them. How fast
// they are is for benchmarks to say.
#include "measure/machine_limits.h"

#include <gtest/gtest.h>

#include <cstdint>

#include "support/amx_emulator.h"
#include "support/call_checked.h"

namespace tw::measure {
namespace {

void call_both(const void* loop) {
  const auto* peak = static_cast<const PeakLoop*>(loop);
  peak->run(3);
  if (peak->run_loaded != nullptr) peak->run_loaded(3);
}

void expect_return(const PeakLoop& loop) {
  const test::CallReport report = test::call_checked(call_both, &loop);
  EXPECT_EQ(report.signal, 0) << loop.instruction << ": " << test::fault_name(report.signal);
  EXPECT_EQ(report.clobbered & ~test::compilers_choice(), 0U)
      << loop.instruction << ": " << test::register_names(report.clobbered);
}

TEST(LimitLoops, Return) {
  for (const PeakLoop& loop : peak_loops()) expect_return(loop);
}

#if defined(__x86_64__) || defined(_M_AMD64)
TEST(LimitLoops, HaveLoadsBesideThem) {
  ASSERT_FALSE(peak_loops().empty());
  for (const PeakLoop& loop : peak_loops()) {
    EXPECT_NE(loop.run_loaded, nullptr) << loop.instruction;
    EXPECT_NE(loop.run_loaded, loop.run) << loop.instruction;
  }
}

#if defined(__linux__)
TEST(LimitLoops, OfTilesReturnAndReleaseThem) {
  if (test::tiles_here() == test::Tiles::none) GTEST_SKIP() << "no vectors of 512 bits";
  for (const PeakLoop& loop : tile_loops()) expect_return(loop);
}
#endif
#endif

TEST(LimitsText, SaysBothWhereBothWereMeasured) {
  Limits limits;
  limits.peaks = {{"vpdpbusd zmm", 433.4, 127.9, 401.3}, {"sdot", 80.2, 31.9}};
  const std::string text = to_text(limits);
  EXPECT_NE(text.find("433.4 GMAC/s  vpdpbusd zmm, 127.9 MACs per cycle; with loads 401.3\n"),
            std::string::npos)
      << text;
  EXPECT_NE(text.find("80.2 GMAC/s  sdot, 31.9 MACs per cycle\n"), std::string::npos) << text;
}

}  // namespace
}  // namespace tw::measure
