// What benchmarks and the tuner hold kernels against: random weights of every format are packed as
// what they take them for.
#include <gtest/gtest.h>

#include <vector>

#include "measure/planned_matmul.h"
#include "support/device.h"

namespace tw {
namespace {

TEST(Products, OfEveryKernelHereAreRight) {
  const tw_device device = test::detected_device();
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  size_t checked = 0;
  for (const tw_kernel* row : rows) {
    if (row->dst != TW_F32 && row->dst != TW_S8) continue;
    const measure::Weights weights = measure::random_weights(64, 512, *row->rhs);
    measure::MatmulOptions options;
    options.family = row->family;
    options.kernel = row->name;
    options.accumulate = row->accumulate;
    options.dst = row->dst;
    measure::PlannedMatmul matmul(device, weights, options);
    matmul.prepare(3);
    matmul.pack_lhs();
    matmul.spoil_output();
    matmul.run();
    matmul.check();  // throws what is wrong
    ++checked;
  }
  EXPECT_GE(checked, 30U) << "of " << rows.size();
}

}  // namespace
}  // namespace tw
