// Weights that are converted on their way into panels of floats, through the run-time API: packed
// as the floats that they are would be.
#include <gtest/gtest.h>

#include <memory>
#include <random>
#include <string>
#include <vector>

#include "reference/source_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::converted_weights_test {
namespace {

constexpr size_t n = 37, k = 64;

struct Destroy {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};

std::unique_ptr<tw_plan, Destroy> make_plan(const char* family) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family;
  matmul.n = n;
  matmul.k = k;
  tw_plan* plan = nullptr;
  const tw_device device = tilewright::detect();
  EXPECT_EQ(tw_plan_create(&device, &matmul, &plan), TW_OK) << tw_error_message();
  return std::unique_ptr<tw_plan, Destroy>(plan);
}

std::vector<uint8_t> packed(const tw_plan* plan, tw_rhs_order order,
                            const std::vector<uint8_t>& rows) {
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = order;
  source.data = rows.data();
  source.data_bytes = rows.size();
  source.stride = rows.size() / n;
  std::vector<uint8_t> out(tw_rhs_bytes(plan));
  for (size_t slice = 0; slice < tilewright::rhs_slices(plan); ++slice) {
    EXPECT_EQ(tw_pack_rhs(plan, &source, out.data(), out.size(), slice), TW_OK)
        << tw_error_message();
  }
  return out;
}

/// `type`: of the panels' floats.
void expect_converted(const char* family, tw_rhs_order order, const char* name,
                      const std::string& type) {
  const SourceReference& source = *find_source_reference(name);
  const size_t row_bytes = k / source.block * source.block_bytes;
  std::mt19937 random(3);
  std::vector<uint8_t> rows(n * row_bytes);
  for (size_t i = 0; i < rows.size(); ++i) {  // no infinity, no NaN
    rows[i] = static_cast<uint8_t>(random() & (i % 2 == 0 ? 0xff : 0xbf));
  }
  std::vector<uint8_t> floats;
  for (size_t i = 0; i < n * k; ++i) {
    const float value = source.value(rows.data() + i / k * row_bytes, i % k);
    const uint32_t bits = output_bits(type, value);
    for (size_t byte = 0; byte < bytes_of_float(type); ++byte) {
      floats.push_back(static_cast<uint8_t>(bits >> (8 * byte)));
    }
  }
  const auto plan = make_plan(family);
  EXPECT_EQ(packed(plan.get(), order, rows), packed(plan.get(), TW_NXK, floats));
}

TEST(ConvertedWeights, AreThoseFloats) {
  expect_converted("matmul_clamp_f32_f32_f32p", TW_NXK_BF16, "nxk_bf16", "f32");
  expect_converted("matmul_clamp_f32_f32_f16p", TW_Q4_1, "q4_1", "f16");
  expect_converted("matmul_clamp_f32_f32_bf16p", TW_Q4_1, "q4_1", "bf16");
}

}  // namespace
}  // namespace tw::test::converted_weights_test
