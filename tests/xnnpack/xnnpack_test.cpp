// Outputs that are codes, bit for bit against XNNPACK's: a product is its convolution of one pixel
// by one pixel, with a scale per output channel; to it codes of 2 and 4 bits are int8, too.
#include <gtest/gtest.h>
#include <xnnpack.h>

#include <cstdio>
#include <memory>

#include "kernels/static_operands.h"
#include "kernels/static_plan.h"

namespace tw::test::xnnpack_test {
namespace {

struct Delete {
  void operator()(xnn_operator_t made) const { xnn_delete_operator(made); }
};

std::vector<int8_t> run_xnnpack(const StaticMatmul& in) {
  // Rows may be read beyond their ends.
  std::vector<int8_t> lhs = in.lhs;
  lhs.resize(lhs.size() + XNN_EXTRA_BYTES);
  std::vector<int8_t> dst(in.m * in.n);
  xnn_operator_t made = nullptr;
  EXPECT_EQ(xnn_create_convolution2d_nhwc_qc8(
                0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, in.k, in.n, in.k, in.n,
                static_cast<int8_t>(in.lhs_zero_point), in.lhs_scale, in.scales.data(),
                in.rhs.data(), in.bias.data(), static_cast<int8_t>(in.dst_zero_point), in.dst_scale,
                static_cast<int8_t>(in.min), static_cast<int8_t>(in.max), 0, &made),
            xnn_status_success);
  const std::unique_ptr<std::remove_pointer_t<xnn_operator_t>, Delete> owner(made);
  EXPECT_EQ(xnn_setup_convolution2d_nhwc_qc8(made, 1, in.m, 1, lhs.data(), dst.data(), nullptr),
            xnn_status_success);
  EXPECT_EQ(xnn_run_operator(made, nullptr), xnn_status_success);
  return dst;
}

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const Values values : {Values::random, Values::extreme, Values::equal}) {
    for (const Clamp clamp : {Clamp::none, Clamp::both}) {
      for (const size_t k : {1, 33, 64, 300, 1000}) {
        Case test;
        test.m = k % 7 + 1;
        test.n = 77;
        test.k = k;
        test.values = values;
        test.clamp = clamp;
        all.push_back(test);
      }
    }
  }
  return all;
}

TEST(Xnnpack, GivesTheSameCodes) {
  ASSERT_EQ(xnn_initialize(nullptr), xnn_status_success);
  size_t outputs = 0, inside = 0;
  for (const int bits : {2, 4, 8}) {
    for (const Case& test : cases()) {
      Scaling scaling;
      scaling.weight_bits = bits;
      const StaticMatmul in = as_static(make_operands(test, scaling), test);
      const std::vector<int8_t> right = run_xnnpack(in);
      for (const std::string& isa : static_isas(bits)) {
        ASSERT_EQ(run_static(in, bits, isa.c_str()), right) << isa << ", " << to_string(test);
      }
      for (const int8_t code : right) inside += code > in.min && code < in.max ? 1 : 0;
      outputs += right.size();
    }
  }
  std::printf("%zu outputs, %zu of them within the limits\n", outputs, inside);
  EXPECT_GT(inside, outputs / 8);
}

}  // namespace
}  // namespace tw::test::xnnpack_test
