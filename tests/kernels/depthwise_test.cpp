// Every depthwise row that this machine can run, against plain C++, beside guard pages.
#include "kernels/depthwise.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstring>
#include <map>

#include "kernels/rows.h"

namespace tw::test {
namespace {

Depthwise shape_for(const tw_depthwise_kernel& row) {
  Depthwise in;
  in.taps_y = row.height;
  in.taps_x = row.width;
  in.stride = row.stride;
  in.type = type_of(row);
  in.fused = std::strcmp(row.kernel.isa, "scalar") != 0;
  return in;
}

/// Channels and outputs around those of a tile; padding on all sides, on some, on none; limits.
std::vector<Depthwise> cases(const tw_depthwise_kernel& row) {
  std::vector<Depthwise> all;
  const size_t n = row.kernel.tile_n;
  for (const size_t channels : {size_t{1}, n - 1, n, n + 1, 2 * n + 3}) {
    if (channels == 0) continue;
    for (const size_t outputs : {size_t{1}, row.kernel.tile_m - 1, row.kernel.tile_m,
                                 row.kernel.tile_m + 1, 3 * row.kernel.tile_m - 1}) {
      if (outputs == 0) continue;
      Depthwise in = shape_for(row);
      in.channels = channels;
      const size_t padded =
          (outputs - 1) * in.stride + in.taps_x + (outputs + channels) % in.stride;
      in.left = channels % 3 == 0 ? 0 : in.taps_x / 2;
      in.right = outputs % 2 == 0 ? in.taps_x - 1 - in.left : 0;
      in.width = padded - in.left - in.right;
      in.top = outputs % 3;
      in.bottom = channels % 2;
      in.height = in.taps_y + 1;
      fill_depthwise(in, static_cast<uint32_t>(outputs * 131 + channels));
      if ((outputs + channels) % 2 == 0) {
        in.min = in.codes() ? -30 : -2;
        in.max = in.codes() ? 70 : 3;
      }
      all.push_back(in);
    }
  }
  return all;
}

class DepthwiseKernel : public testing::TestWithParam<const tw_depthwise_kernel*> {};

TEST_P(DepthwiseKernel, GivesTheBitsOfTheReference) {
  size_t number = 0;
  for (const Depthwise& in : cases(*GetParam())) {
    DepthwiseOptions options;
    options.kernel = GetParam()->kernel.name;
    options.order = number % 2 == 0 ? TW_KXN : TW_NXK;
    options.flush = number % 3 == 0 ? Flush::start : Flush::end;
    options.gap = number % 4 == 0 ? 12 : 0;
    options.bias_argument = !in.codes() && number % 5 == 0;
    options.checked = number++ % 2 == 1;
    ASSERT_EQ(run_depthwise(in, options), depthwise_outputs(in))
        << in.channels << " channels, " << in.lines() << " x " << in.columns() << " outputs";
  }
}

INSTANTIATE_TEST_SUITE_P(, DepthwiseKernel, testing::ValuesIn(running_depthwise_kernels()),
                         [](const auto& row) { return std::string(row.param->kernel.name); });

/// Infinities and what is no number stay where they are, and clamping leaves them alone.
TEST(Depthwise, NumbersThatAreNone) {
  for (const tw_depthwise_kernel* row : running_depthwise_kernels()) {
    Depthwise in = shape_for(*row);
    if (in.codes()) continue;
    in.width = 2 * row->kernel.tile_m + in.taps_x + 2;
    in.height = in.taps_y;
    in.channels = row->kernel.tile_n + 1;
    fill_depthwise(in, 7);
    const size_t middle = in.width / 2 * in.channels;
    in.input[middle] = NAN;
    in.input[middle + 1 % in.channels] = in.channels > 1 ? INFINITY : NAN;
    in.max = 100;
    DepthwiseOptions options;
    options.kernel = row->kernel.name;
    const std::vector<uint8_t> found = run_depthwise(in, options);
    size_t none = 0;
    for (size_t i = 0; i * in.value_bytes() < found.size(); ++i) {
      uint32_t bits = 0;
      std::memcpy(&bits, found.data() + i * in.value_bytes(), in.value_bytes());
      const float right = depthwise_output(in, 0, i / in.channels, i % in.channels);
      const float output = value_of_bits(in.type, bits);
      none += std::isnan(right) ? 1 : 0;
      if (std::isnan(right)) {
        EXPECT_TRUE(std::isnan(output)) << row->kernel.name;
      } else {
        EXPECT_EQ(output, rounded_to(in.type, right)) << row->kernel.name;
      }
    }
    EXPECT_GT(none, 0U);
  }
}

TEST(Depthwise, IntrinsicsAndAssemblyGiveTheSameBits) {
  int pairs = 0;
  const std::vector<const tw_depthwise_kernel*> rows = running_depthwise_kernels();
  for (const tw_depthwise_kernel* a : rows) {
    for (const tw_depthwise_kernel* b : rows) {
      if (std::string(b->kernel.name) != std::string(a->kernel.name) + "_asm") continue;
      ++pairs;
      Depthwise in = shape_for(*a);
      in.channels = 2 * a->kernel.tile_n + 1;
      in.width = 40;
      in.height = in.taps_y + 2;
      in.left = in.top = in.right = 1;
      fill_depthwise(in, 11);
      DepthwiseOptions left;
      DepthwiseOptions right;
      left.kernel = a->kernel.name;
      right.kernel = b->kernel.name;
      ASSERT_EQ(run_depthwise(in, left), run_depthwise(in, right)) << a->kernel.name;
    }
  }
  std::printf("%d pairs\n", pairs);
}

TEST(Depthwise, EachRowRunsItsOwnFunctionWhereItShould) {
  const std::vector<const tw_depthwise_kernel*> running = running_depthwise_kernels();
  std::map<tw_kernel_fn, std::string> functions;
  for (size_t i = 0; i < tw_generated_depthwise_kernel_count; ++i) {
    const tw_depthwise_kernel& row = tw_generated_depthwise_kernels[i];
    const bool runs = std::find(running.begin(), running.end(), &row) != running.end();
    if (row.kernel.run == nullptr) continue;
    EXPECT_EQ(runs, should_run(row.kernel.isa, row.kernel.features)) << row.kernel.name;
    EXPECT_TRUE(functions.emplace(row.kernel.run, row.kernel.name).second) << row.kernel.name;
  }
}

/// Plans take the widest tile that leaves no channels over.
TEST(Depthwise, PlansFitTheirChannels) {
  const std::vector<const tw_depthwise_kernel*> rows = running_depthwise_kernels();
  for (const tw_depthwise_kernel* row : rows) {
    if (std::strcmp(row->kernel.printer, "assembly") != 0) continue;
    Depthwise in = shape_for(*row);
    in.height = in.width = 9;
    for (const size_t channels : {row->kernel.tile_n, 3 * row->kernel.tile_n + 5}) {
      in.channels = channels;
      fill_depthwise(in, 3);
      DepthwiseOptions options;
      options.isa = row->kernel.isa;
      ASSERT_EQ(run_depthwise(in, options), depthwise_outputs(in)) << row->kernel.name;
    }
  }
}

}  // namespace
}  // namespace tw::test
