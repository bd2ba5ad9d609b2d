// Every registry row that this machine can run, tested from its row alone.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <map>

#include "kernels/harness.h"
#include "kernels/rows.h"

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

TEST(Kernels, IntrinsicsAndAssemblyGiveTheSameBits) {
  int pairs = 0;
  for (const tw_kernel* a : running_kernels()) {
    for (const tw_kernel* b : running_kernels()) {
      if (!twins(*a, *b)) continue;
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

TEST(Kernels, EachRowRunsItsOwnFunction) {
  std::map<tw_kernel_fn, const char*> names;
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel& row = tw_generated_kernels[i];
    if (row.run == nullptr) continue;
    const auto [first, is_new] = names.emplace(row.run, row.name);
    EXPECT_TRUE(is_new) << row.name << " runs the function of " << first->second;
  }
}

TEST(Kernels, RunOrAreRefusedAsExpected) {
  const std::vector<const tw_kernel*> running = running_kernels();
  size_t run = 0;
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel& row = tw_generated_kernels[i];
    const bool runs = std::find(running.begin(), running.end(), &row) != running.end();
    run += runs ? 1 : 0;
    std::printf("%-8s %s\n", runs ? "run" : row.run == nullptr ? "not built" : "refused", row.name);
    EXPECT_EQ(runs, should_run(row.isa, row.features)) << row.name << " of " << row.isa;
  }
  std::printf("%zu kernels: %zu run, %zu refused\n", tw_generated_kernel_count, run,
              tw_generated_kernel_count - run);
}

}  // namespace
}  // namespace tw::test
