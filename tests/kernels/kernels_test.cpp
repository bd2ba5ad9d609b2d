// Every registry row that this machine can run, tested from its row alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

#include "kernels/float_operands.h"
#include "kernels/harness.h"
#include "kernels/rows.h"
#include "support/amx_emulator.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

class Kernel : public testing::TestWithParam<const tw_kernel*> {
 protected:
  void run_all(const std::vector<Case>& cases) {
    const Packers packers = find_packers(*GetParam());
    int wrong = 0;
    for (const Case& test : cases) {
      const std::string text = run_case(*GetParam(), packers, test);
      if (text.empty()) continue;
      ADD_FAILURE() << GetParam()->name << ": " << text;
      if (++wrong == 5) FAIL() << "and no more of " << cases.size() << " cases tried";
    }
  }
};

TEST_P(Kernel, Shapes) {
  run_all(shape_cases(*GetParam()));
}
TEST_P(Kernel, Tails) {
  run_all(tail_cases(*GetParam()));
}
TEST_P(Kernel, Options) {
  run_all(option_cases(*GetParam()));
}
TEST_P(Kernel, Portions) {
  run_all(portion_cases(*GetParam()));
}
TEST_P(Kernel, Depth) {
  run_all(deep_cases(*GetParam()));
}

INSTANTIATE_TEST_SUITE_P(, Kernel, testing::ValuesIn(running_kernels()),
                         [](const auto& row) { return std::string(row.param->name); });

/// The same variant, printed otherwise.
bool twins(const tw_kernel& a, const tw_kernel& b) {
  return std::strcmp(a.isa, b.isa) == 0 && std::strcmp(a.family, b.family) == 0 &&
         std::strcmp(a.technique, b.technique) == 0 && a.lhs->id == b.lhs->id &&
         a.rhs->id == b.rhs->id && a.tile_m == b.tile_m && a.tile_n == b.tile_n &&
         a.tile_n_scalable == b.tile_n_scalable && a.unroll_k == b.unroll_k &&
         a.accumulators == b.accumulators && std::strcmp(a.printer, "intrinsics") == 0 &&
         std::strcmp(b.printer, "assembly") == 0;
}

/// Of floats. With codes, Kernel.Options has each printer's output right to the bit in these cases.
TEST(Kernels, IntrinsicsAndAssemblyGiveTheSameBits) {
  int pairs = 0;
  const std::vector<const tw_kernel*> kernels = running_kernels();
  for (const tw_kernel* a : kernels) {
    for (const tw_kernel* b : kernels) {
      if (!has_float_weights(*a->rhs) || !twins(*a, *b)) continue;
      ++pairs;
      const Packers packers = find_packers(*a);
      for (const Case& test : option_cases(*a)) {
        std::vector<uint8_t> left;
        std::vector<uint8_t> right;
        ASSERT_EQ(run_case(*a, packers, test, &left), "") << a->name;
        ASSERT_EQ(run_case(*b, packers, test, &right), "") << b->name;
        ASSERT_EQ(left, right) << a->name << " and " << b->name << ": " << to_string(test);
      }
    }
  }
  std::printf("%d pairs\n", pairs);
}

/// Code loops over long blocks, so that rows which differ in their length alone share it.
bool may_share(const tw_kernel& a, const tw_kernel& b) {
  const auto is_long = [](const tw_kernel& row) { return row.rhs->block > 32; };
  return is_long(a) && is_long(b) && a.rhs->block != b.rhs->block &&
         a.rhs->block_scales == b.rhs->block_scales && a.content_hash == b.content_hash;
}

TEST(Kernels, EachRowRunsItsOwnFunction) {
  std::map<tw_kernel_fn, const tw_kernel*> rows;
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel& row = tw_generated_kernels[i];
    if (row.run == nullptr) continue;
    const auto [first, is_new] = rows.emplace(row.run, &row);
    EXPECT_TRUE(is_new || may_share(row, *first->second))
        << row.name << " runs the function of " << first->second->name;
  }
}

/// Where the machine is known, so is the length of its vectors.
TEST(Kernels, VectorsAreAsLongAsExpected) {
  const char* expected = std::getenv("TILEWRIGHT_EXPECT_VECTOR_BYTES");
  if (expected != nullptr) {
    EXPECT_EQ(std::to_string(vector_bytes()), expected);
  }
  const char* streaming = std::getenv("TILEWRIGHT_EXPECT_STREAMING_BYTES");
  if (streaming != nullptr) {
    EXPECT_EQ(std::to_string(streaming_bytes()), streaming);
  }
  auto device = tilewright::sized<tw_device>();
  ASSERT_EQ(tw_device_detect(&device), TW_OK);
  EXPECT_EQ(device.vector_bytes, vector_bytes());
  EXPECT_EQ(device.streaming_vector_bytes, streaming_bytes());
}

struct IsaCount {
  std::string isa;
  size_t run = 0, refused = 0;
};

/// In the registry's order; kernels of other architectures, which are not built, do not count.
std::vector<IsaCount> count_by_isa(const std::vector<const tw_kernel*>& running) {
  std::vector<IsaCount> counts;
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel& row = tw_generated_kernels[i];
    if (row.run == nullptr) continue;
    auto count = std::find_if(counts.begin(), counts.end(),
                              [&](const IsaCount& known) { return known.isa == row.isa; });
    if (count == counts.end()) count = counts.insert(counts.end(), {row.isa, 0, 0});
    const bool runs = std::find(running.begin(), running.end(), &row) != running.end();
    ++(runs ? count->run : count->refused);
  }
  return counts;
}

/// Tiles may be ours.
bool is_emulated(const std::string& isa) {
  return isa.rfind("amx_", 0) == 0 && tiles_here() == Tiles::emulated;
}

/// Prints a line per ISA, which tests/kernels/cpu_ladder reads.
TEST(Kernels, RunOrAreRefusedAsExpected) {
  const std::vector<const tw_kernel*> running = running_kernels();
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel& row = tw_generated_kernels[i];
    const bool runs = std::find(running.begin(), running.end(), &row) != running.end();
    EXPECT_EQ(runs, should_run(row.isa, row.features)) << row.name << " of " << row.isa;
    if (!runs) continue;
    EXPECT_EQ(run_case(row, find_packers(row), option_cases(row).front()), "") << row.name;
  }
  for (const IsaCount& count : count_by_isa(running)) {
    const bool mixed = count.run > 0 && count.refused > 0;
    std::printf("isa: %s %zu %s\n", count.isa.c_str(), count.run + count.refused,
                mixed                    ? "some refused"
                : count.run == 0         ? "refused"
                : is_emulated(count.isa) ? "run, emulated"
                                         : "run");
    EXPECT_FALSE(mixed) << count.isa;
  }
}

}  // namespace
}  // namespace tw::test
