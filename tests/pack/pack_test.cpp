// Every generated packer that this machine can run, byte for byte against plain C++.
#include <gtest/gtest.h>

#include "kernels/rows.h"
#include "pack/case.h"
#include "support/environment.h"

namespace tw::test {
namespace {

/// Emulators are slow, and so are sanitizers.
size_t random_count() {
#if defined(__x86_64__)
  constexpr size_t some = is_sanitized ? 15 : 60, many = 400;
#else
  constexpr size_t some = 15, many = 150;
#endif
  return is_long() ? many : some;
}

std::vector<const tw_packer*> running_packers() {
  std::vector<const tw_packer*> out;
  for (size_t i = 0; i < tw_generated_packer_count; ++i) {
    const tw_packer& packer = tw_generated_packers[i];
    if (packer.run != nullptr && should_run(packer.isa, packer.features)) out.push_back(&packer);
  }
  return out;
}

class Pack : public testing::TestWithParam<const tw_packer*> {};

void expect_right(const std::vector<PackCase>& cases) {
  const tw_packer& packer = *Pack::GetParam();
  for (const PackCase& c : cases) {
    const std::string problem = check_packer(packer, c);
    ASSERT_EQ(problem, "") << packer.name << ": " << to_string(c);
  }
}

TEST_P(Pack, Edges) {
  expect_right(edge_cases(*GetParam()));
}
TEST_P(Pack, RandomShapesAndSlices) {
  expect_right(random_cases(*GetParam(), random_count(), 7));
}

INSTANTIATE_TEST_SUITE_P(Generated, Pack, testing::ValuesIn(running_packers()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(Packers, SomeRunHere) {
  EXPECT_FALSE(running_packers().empty());
}

}  // namespace
}  // namespace tw::test
