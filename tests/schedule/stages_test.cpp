// Random Programs through every stage: each must compute what the first computed.
#include <gtest/gtest.h>

#include "programs.h"
#include "schedule/allocate.h"
#include "schedule/order.h"
#include "schedule/pipeline.h"
#include "schedule/select.h"
#include "spec/core_reader.h"
#include "support/environment.h"

namespace tw::test {
namespace {

const std::vector<std::vector<uint64_t>> all_counts = {{0, 0, 0}, {1, 2, 3}, {3, 1, 0}, {5, 0, 1}};

class Stages {
 public:
  Stages(const Program& first, uint32_t seed) : seed_(seed) {
    for (const auto& counts : all_counts) expected_.push_back(result_of(first, counts));
  }

  void check(const Program& program, const char* stage, bool physical = false) {
    ASSERT_EQ(verify(program), "") << stage << ", seed " << seed_;
    for (size_t i = 0; i < all_counts.size(); ++i) {
      try {
        ASSERT_EQ(result_of(program, all_counts[i], physical), expected_[i])
            << stage << ", seed " << seed_ << ", counts " << i << "\n"
            << to_text(program);
      } catch (const Fault& fault) {
        FAIL() << stage << ", seed " << seed_ << ": " << fault.what() << "\n" << to_text(program);
      }
    }
  }

 private:
  uint32_t seed_;
  std::vector<std::vector<uint8_t>> expected_;
};

TEST(Stages, RandomProgramsComputeTheSameAfterEach) {
  const CoreModel in_order =
      read_core(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates", "cortex-a510");
  int allocated = 0;
  int pipelined = 0;
  const uint32_t programs = is_sanitized && !is_long() ? 60 : 600;
  for (uint32_t seed = 1; seed <= programs && !testing::Test::HasFatalFailure(); ++seed) {
    Program program = random_program(fake_isa(), seed);
    Stages stages(program, seed);
    order(program);
    stages.check(program, "ordered");
    select(program, {.loads_per_row = static_cast<int>(seed % 3)});
    stages.check(program, "selected");
    const size_t before = program.values.size();
    pipeline(program, in_order);
    pipelined += program.values.size() != before;
    stages.check(program, "pipelined");
    try {
      allocate(program);
      ++allocated;
    } catch (const AllocationError&) {
      continue;
    }
    stages.check(program, "allocated");
    stages.check(program, "allocated, on registers", true);
  }
  EXPECT_GE(allocated, static_cast<int>(programs / 2));
  EXPECT_GE(pipelined, static_cast<int>(programs / 30));
}

}  // namespace
}  // namespace tw::test
