// Slices of few long rows: parts of k, where scales are per block. Together they are what the
// packer makes of the whole rows.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <set>

#include "kernels/rows.h"
#include "reference/half_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

/// One kernel for each layout of activations with nothing but blocks.
std::vector<const tw_kernel*> layouts_of_blocks() {
  std::set<uint64_t> known;
  std::vector<const tw_kernel*> rows = running_kernels();
  std::erase_if(rows, [&](const tw_kernel* row) {
    return row->lhs->block == 0 || row->lhs->per_row_bytes != 0 || row->lhs->scales_apart != 0 ||
           !known.insert(row->lhs->id).second;
  });
  return rows;
}

class LhsSlices : public testing::TestWithParam<const tw_kernel*> {};

struct Shape {
  size_t rows, k;
};
/// One row and three are cut along k, which takes long rows; more than some 16 between panels.
constexpr size_t many_rows = 22, longest_panel = 64;  // of vectors of 2048 bits
constexpr Shape shapes[] = {{1, 16384}, {3, 8192}, {many_rows, 512}};
constexpr size_t more_blocks = 3, longest_block = 256;
constexpr size_t most_values = (longest_panel + 1) * (512 + more_blocks * longest_block);

/// most_values between -1 and 1, of a type of floats: made once, which takes a while.
const std::vector<uint8_t>& rows_of(const std::string& type) {
  static std::map<std::string, std::vector<uint8_t>> made;
  std::vector<uint8_t>& rows = made[type];
  const size_t bytes = bytes_of_float(type);
  uint32_t state = 1;
  while (rows.size() < most_values * bytes) {
    state = state * 1664525 + 1013904223;
    const float value = static_cast<float>(static_cast<int32_t>(state) >> 24) / 128;
    const uint32_t bits = float_bits(type, value);  // 8 bits, which all types hold
    rows.insert(rows.end(), bytes, 0);
    std::memcpy(rows.data() + rows.size() - bytes, &bits, bytes);
  }
  return rows;
}

void check_slices(const tw_kernel& kernel, const Shape& shape, tw_type type,
                  const std::string& type_name) {
  const size_t panel = panel_rows(*kernel.lhs);
  const size_t m = shape.rows == many_rows ? std::max(many_rows, panel + 1) : shape.rows;
  const size_t k = shape.k + more_blocks * kernel.lhs->block;
  ASSERT_LE(m * k, most_values);
  const size_t depth = k / kernel.rhs->block * kernel.rhs->block;
  const tw_device device = tilewright::detect();
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = kernel.family;
  matmul.n = 64;
  matmul.k = depth;
  matmul.lhs_type = type;
  matmul.dst_type = kernel.dst;
  matmul.kernel = kernel.name;
  const tilewright::Plan plan(device, matmul);
  const std::vector<uint8_t>& rows = rows_of(type_name);
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = rows.data();
  source.stride = k * bytes_of_float(type_name);
  source.data_bytes = source.stride * m;
  std::vector<uint8_t> packed(plan.lhs_bytes(m), 0x55);
  const size_t slices = plan.lhs_slices(m);
  EXPECT_GE(slices, 2U) << m << " rows";
  for (size_t s = slices; s-- > 0;) {
    plan.pack_lhs(m, source, packed.data(), packed.size(), s);
  }
  std::vector<uint8_t> whole(packed.size(), 0x55);
  for (const tw_segment& segment : plan.segments(m)) {
    tw_pack_args args = {};
    args.size = sizeof args;
    args.rows = args.row_end = segment.rows;
    args.k = depth;
    tw_pack_into(&args, kernel.lhs);
    args.source = rows.data() + segment.row_begin * source.stride;
    args.source_stride = source.stride;
    args.packed = whole.data() + segment.lhs_offset;
    args.packed_stride = segment.lhs_stride;
    args.vector_bytes = vector_bytes(*kernel.lhs);
    segment.lhs_packer->run(&args);
  }
  ASSERT_EQ(packed, whole) << m << " rows of " << type_name << ", layout " << kernel.lhs->text;
}

TEST_P(LhsSlices, OfLongRows) {
  for (const Shape& shape : shapes) {
    check_slices(*GetParam(), shape, TW_F32, "f32");
    check_slices(*GetParam(), shape, TW_BF16, "bf16");
  }
}

INSTANTIATE_TEST_SUITE_P(, LhsSlices, testing::ValuesIn(layouts_of_blocks()),
                         [](const auto& row) { return std::string(row.param->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(LhsSlices);

}  // namespace
}  // namespace tw::test
