// Weights that generated packers packed come back bit by bit: each layout of the registry that this
// machine runs kernels on, in each order that it keeps the values of.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "kernels/rows.h"
#include "reference/ggml_blocks.h"
#include "support/guarded_buffer.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::unpack_test {
namespace {

using Bytes = std::vector<uint8_t>;
constexpr uint8_t unwritten = 0xa5;

constexpr struct {
  tw_rhs_order order;
  const char* name;
  size_t block, block_bytes;  ///< values that stand with a scale
} orders[] = {{TW_NXK, "nxk", 0, 0},
              {TW_KXN, "kxn", 0, 0},
              {TW_Q4_0, "q4_0", 32, 18},
              {TW_Q8_0, "q8_0", 32, 34},
              {TW_NXK_BF16, "nxk_bf16", 0, 0},
              {TW_Q4_1, "q4_1", 32, 20},
              {TW_NBITS, "nbits", 0, 0},
              {TW_Q4_K, "q4_k", 256, 144},
              {TW_Q5_0, "q5_0", 32, 22},
              {TW_Q5_1, "q5_1", 32, 24},
              {TW_Q5_K, "q5_k", 256, 176},
              {TW_Q6_K, "q6_k", 256, 210},
              {TW_IQ4_NL, "iq4_nl", 32, 18},
              {TW_MXFP4, "mxfp4", 32, 17},
              {TW_IQ4_XS, "iq4_xs", 256, 136},
              {TW_Q2_K, "q2_k", 256, 84},
              {TW_Q3_K, "q3_k", 256, 110},
              {TW_TQ2_0, "tq2_0", 256, 66},
              {TW_Q2_0, "q2_0", 64, 18},
              {TW_NVFP4, "nvfp4", 64, 36},
              {TW_Q1_0, "q1_0", 128, 18},
              {TW_IQ3_S_FLAT, "iq3_s_flat", 256, 136},
              {TW_IQ3_XXS_FLAT, "iq3_xxs_flat", 256, 136},
              {TW_IQ2_FLAT, "iq2_flat", 256, 110},
              {TW_IQ1_FLAT, "iq1_flat", 256, 110}};

bool divides_scales(const tw_layout& layout) {
  const std::string text = layout.text;
  return text.find("scales:f32/16") != std::string::npos ||
         text.find("scales:f16/16") != std::string::npos;
}

/// By its definition.
bool keeps(const tw_layout& layout, tw_rhs_order order) {
  if (divides_scales(layout) && orders[order].block != 0) return false;
  const tw_axes& axes = *layout.axes;
  const bool steps = axes.scale_steps.type != TW_TYPE_NONE;
  const bool minimums = axes.minimums.type != TW_TYPE_NONE;
  const int tops = axes.tops.type == TW_S1 ? 1 : axes.tops.type == TW_S2 ? 2 : 0;
  if (const GgmlType* type = find_ggml(orders[order].name)) {
    const bool powers = std::string(type->scale_type) == "e8m0";
    const tw_scales scales = powers ? TW_SCALES_E8M0 : TW_SCALES_F16;
    const std::string table = axes.codes != nullptr ? axes.codes->name : "";
    const int bits = static_cast<int>(layout.data_bits);
    const bool apart = tops == type->top_bits && bits == type->low_bits;
    const bool joined = tops == 0 && bits == 8 && std::string(type->name) == "q6_k";
    return layout.block == type->values && layout.block_scales == scales && table == type->table &&
           axes.zero_points.type == TW_TYPE_NONE && steps == type->steps() &&
           minimums == type->minimums && (apart || joined);
  }
  if (order == TW_NBITS) return false;  // a test of its own
  if (steps || minimums || tops != 0 || axes.codes != nullptr) return false;
  if (order == TW_NXK || order == TW_KXN) return true;
  return layout.type == TW_BF16;
}

struct Shape {
  size_t n, k;
};

/// Weights in some order, as their user holds them.
struct Weights {
  Weights(const tw_layout& layout, Shape shape, tw_rhs_order order, bool is_unsigned)
      : layout(layout), shape(shape), order(order), is_unsigned(is_unsigned) {
    const size_t values = order == TW_KXN ? shape.n : shape.k;
    const size_t block = orders[order].block;
    rows = order == TW_KXN ? shape.k : shape.n;
    row_bytes = block != 0 ? values / block * orders[order].block_bytes
                           : (values * layout.data_bits + 7) / 8;
    stride = row_bytes + 5;
    data = std::make_unique<GuardedBuffer>("data", (rows - 1) * stride + row_bytes, Flush::end);
    data->fill(unwritten);
    if (block == 0 && layout.scales != 0) {
      scale_bytes =
          layout.block_scales == TW_SCALES_F16 || layout.block_scales == TW_SCALES_BF16 ? 2 : 4;
      blocks = layout.block == 0 ? 1 : shape.k / layout.block;
      scale_stride = layout.block == 0 ? scale_bytes : blocks * scale_bytes + 3;
      scales.assign((shape.n - 1) * scale_stride + blocks * scale_bytes, unwritten);
    }
    if (layout.axes->bias.type != TW_TYPE_NONE) bias.assign(shape.n * sizeof(float), unwritten);
    if (layout.axes->zero_points.type == TW_TYPE_NONE) return;
    zero_bytes = layout.axes->zero_points.type == TW_F32 ? 4 : 2;
    zero_count = layout.block == 0 ? 1 : shape.k / layout.block;
    const bool has_gaps = layout.block != 0 && scale_stride != 0;
    zero_stride = has_gaps ? scale_stride : zero_count * zero_bytes;
    zeros.assign((shape.n - 1) * zero_stride + zero_count * zero_bytes, unwritten);
  }

  /// Codes of any bits; scales and biases that are numbers.
  void fill(std::mt19937& random) {
    for (size_t i = 0; i < data->size(); ++i) data->data()[i] = static_cast<uint8_t>(random());
    for (uint8_t& byte : scales) byte = static_cast<uint8_t>(random() & 0x3f);
    for (uint8_t& byte : bias) byte = static_cast<uint8_t>(random() & 0x3f);
    for (uint8_t& byte : zeros) byte = static_cast<uint8_t>(random() & 0x3f);
  }

  /// Of an order that has everything inside.
  [[nodiscard]] const uint8_t* row(size_t column) const { return data->data() + column * stride; }
  [[nodiscard]] GgmlBlock block(const GgmlType& type, size_t column, size_t k) const {
    return {type, data->data() + column * stride + k / type.values * type.bytes};
  }

  /// The bits of a weight: codes in two's complement.
  [[nodiscard]] uint32_t weight(size_t column, size_t k) const {
    const size_t bits = layout.data_bits;
    if (type != nullptr) {
      const int code = block(*type, column, k).code(k % type->values);
      return static_cast<uint32_t>(code) & ((1U << type->bits()) - 1);
    }
    const uint8_t* row = data->data() + (order == TW_KXN ? k : column) * stride;
    const size_t at = order == TW_KXN ? column : k;
    if (bits < 8) {
      const uint32_t code = row[at * bits / 8] >> (at * bits % 8) & ((1U << bits) - 1);
      return code ^ (is_unsigned ? 8U : 0U);
    }
    uint32_t value = 0;
    std::memcpy(&value, row + at * bits / 8, bits / 8);
    return value;
  }

  [[nodiscard]] uint32_t scale(size_t column, size_t number) const {
    const uint8_t* at = scales.data() + column * scale_stride + number * scale_bytes;
    if (type != nullptr) at = block(*type, column, number * type->values).d_at();
    uint32_t value = 0;
    std::memcpy(&value, at, type != nullptr ? 2 : scale_bytes);
    return type != nullptr ? block(*type, column, number * type->values).kept_scale(value) : value;
  }

  /// What has no weight: between rows, and the rest of a last byte.
  [[nodiscard]] bool is_written_between() const {
    for (size_t row = 0; row < rows; ++row) {
      const uint8_t* begin = data->data() + row * stride;
      const size_t values = order == TW_KXN ? shape.n : shape.k;
      const size_t last_bits = orders[order].block == 0 ? values * layout.data_bits % 8 : 0;
      if (last_bits != 0 && begin[row_bytes - 1] >> last_bits != unwritten >> last_bits)
        return true;
      for (size_t i = row_bytes; i < stride && row + 1 < rows; ++i) {
        if (begin[i] != unwritten) return true;
      }
    }
    for (size_t column = 0; column + 1 < shape.n && blocks != 0; ++column) {
      for (size_t i = blocks * scale_bytes; i < scale_stride; ++i) {
        if (scales[column * scale_stride + i] != unwritten) return true;
      }
    }
    return false;
  }

  const tw_layout& layout;
  Shape shape;
  tw_rhs_order order;
  const GgmlType* type = find_ggml(orders[order].name);  ///< null: of no blocks of ggml's
  bool is_unsigned;
  size_t rows = 0, row_bytes = 0, stride = 0;
  size_t blocks = 0, scale_bytes = 0, scale_stride = 0;
  std::unique_ptr<GuardedBuffer> data;
  Bytes scales, bias;
  Bytes zeros;  ///< points, of columns
  size_t zero_bytes = 0, zero_count = 0, zero_stride = 0;
};

/// A tw_rhs_source or a tw_rhs_target.
template <class Struct>
Struct described(Weights& weights) {
  auto made = tilewright::sized<Struct>();
  made.order = weights.order;
  made.data = weights.data->data();
  made.data_bytes = weights.data->size();
  made.stride = weights.stride;
  made.unsigned_nibbles = weights.is_unsigned;
  if (!weights.scales.empty()) made.scales = weights.scales.data();
  made.scale_count = weights.shape.n * weights.blocks;
  made.scale_stride = weights.layout.block != 0 ? weights.scale_stride : 0;
  if (!weights.bias.empty()) made.bias = weights.bias.data();
  made.bias_count = weights.shape.n;
  if (!weights.zeros.empty()) made.zero_points = weights.zeros.data();
  made.zero_point_count = weights.shape.n * weights.zero_count;
  return made;
}

struct Destroy {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};
using Plan = std::unique_ptr<tw_plan, Destroy>;

/// This machine, with what tests emulate: packers for such kernels need none of it.
const tw_device& device_here() {
  static const tw_device device = [] {
    tw_device found = tilewright::detect();
    for (const tw_kernel* kernel : running_kernels()) found.features |= kernel->features;
    return found;
  }();
  return device;
}

Plan make_plan(const tw_kernel& kernel, Shape shape) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = kernel.family;
  matmul.n = shape.n;
  matmul.k = shape.k;
  matmul.block = kernel.rhs->block;
  matmul.scales = kernel.rhs->block_scales;
  matmul.rhs_layout = kernel.rhs->id;
  tw_plan* plan = nullptr;
  EXPECT_EQ(tw_plan_create(&device_here(), &matmul, &plan), TW_OK) << tw_error_message();
  return Plan(plan);
}

bool has_packer(const tw_layout& layout, const char* source) {
  for (size_t i = 0; i < tw_generated_packer_count; ++i) {
    const tw_packer& packer = tw_generated_packers[i];
    if (packer.layout->id == layout.id && std::strcmp(packer.source, source) == 0 &&
        tw_packer_supported(&packer, &device_here()) != 0) {
      return true;
    }
  }
  return false;
}

Bytes pack(const tw_plan* plan, Weights& weights) {
  const auto source = described<tw_rhs_source>(weights);
  Bytes packed(tw_rhs_bytes(plan));
  for (size_t slice = 0; slice < tilewright::rhs_slices(plan); ++slice) {
    EXPECT_EQ(tw_pack_rhs(plan, &source, packed.data(), packed.size(), slice), TW_OK)
        << tw_error_message();
  }
  return packed;
}

/// Columns from `column` on of `given` are those of `found`; the first difference, or nothing.
std::string difference(const Weights& given, size_t column, const Weights& found) {
  const tw_layout& layout = given.layout;
  const size_t blocks = layout.scales == 0 || divides_scales(layout) ? 0
                        : layout.block == 0                          ? 1
                                                                     : given.shape.k / layout.block;
  for (size_t n = 0; n < found.shape.n; ++n) {
    const std::string where = " of column " + std::to_string(n);
    const bool inside = orders[given.order].block != 0 && found.order == given.order;
    if (inside && std::memcmp(given.row(column + n), found.row(n), given.row_bytes) != 0) {
      return "block" + where;
    }
    for (size_t k = 0; !inside && k < found.shape.k; ++k) {
      if (given.weight(column + n, k) != found.weight(n, k)) {
        return "weight " + std::to_string(k) + where;
      }
    }
    for (size_t b = 0; !inside && b < blocks; ++b) {
      if (given.scale(column + n, b) != found.scale(n, b)) {
        return "scale " + std::to_string(b) + where;
      }
    }
    if (!given.bias.empty() &&
        std::memcmp(&given.bias[4 * (column + n)], &found.bias[4 * n], 4) != 0) {
      return "bias" + where;
    }
    if (!given.zeros.empty() && std::memcmp(&given.zeros[given.zero_stride * (column + n)],
                                            &found.zeros[found.zero_stride * n],
                                            given.zero_count * given.zero_bytes) != 0) {
      return "zero points" + where;
    }
  }
  return found.is_written_between() ? "bytes between rows" : "";
}

class Unpack : public testing::TestWithParam<const tw_kernel*> {
 protected:
  /// Some columns, to every order.
  void expect_columns(const tw_plan* plan, const Weights& given, const Bytes& packed, size_t column,
                      size_t columns) {
    const tw_layout& layout = given.layout;
    for (const auto& to : orders) {
      if (!keeps(layout, to.order)) continue;
      const bool is_unsigned = layout.data_bits == 4 && random_() % 2 == 0;
      Weights found(layout, {columns, given.shape.k}, to.order, is_unsigned);
      auto target = described<tw_rhs_target>(found);
      if (divides_scales(layout)) target.scales = nullptr;
      ASSERT_EQ(tw_unpack_rhs(plan, packed.data(), packed.size(), column, columns, &target), TW_OK)
          << tw_error_message();
      ASSERT_EQ(difference(given, column, found), "")
          << layout.text << ": " << given.shape.n << " x " << given.shape.k << " from "
          << orders[given.order].name << " to " << to.name << ", columns " << column << " + "
          << columns;
    }
  }
  std::mt19937 random_{5};
};

TEST_P(Unpack, BitsComeBack) {
  const tw_layout& layout = *GetParam()->rhs;
  const size_t panel = panel_rows(layout), block = layout.block == 0 ? 1 : layout.block;
  for (const auto& [n, depth] :
       {Shape{1, 1}, {panel, 32}, {panel + 1, 35}, {2 * panel - 1, 291}, {3, 520}}) {
    const Shape shape{n, (depth + block - 1) / block * block};
    const Plan plan = make_plan(*GetParam(), shape);
    size_t packers = 0;
    for (const auto& from : orders) {
      if (!keeps(layout, from.order) || !has_packer(layout, from.name)) continue;
      ++packers;
      Weights given(layout, shape, from.order, layout.data_bits == 4 && random_() % 2 == 0);
      given.fill(random_);
      const Bytes packed = pack(plan.get(), given);
      expect_columns(plan.get(), given, packed, 0, n);
      for (int i = 0; i < 2; ++i) {
        const size_t column = random_() % n;
        expect_columns(plan.get(), given, packed, column, 1 + random_() % (n - column));
      }
    }
    ASSERT_NE(packers, 0U) << layout.text;
  }
}

TEST_P(Unpack, WhatIsNotKeptIsRefused) {
  const tw_layout& layout = *GetParam()->rhs;
  const Shape shape{3, layout.block == 0 ? 32 : layout.block};
  const Plan plan = make_plan(*GetParam(), shape);
  const Bytes packed(tw_rhs_bytes(plan.get()));
  for (const auto& to : orders) {
    if (to.order == TW_NBITS) continue;
    Weights found(layout, shape, to.order, false);
    Bytes data(shape.k * 1024, unwritten);
    auto target = described<tw_rhs_target>(found);
    target.data = data.data();
    target.data_bytes = data.size();
    target.stride = 1024;
    const bool is_legal = keeps(layout, to.order) && !(divides_scales(layout) && to.block == 0);
    EXPECT_EQ(tw_unpack_rhs(plan.get(), packed.data(), packed.size(), 0, 3, &target),
              is_legal ? TW_OK : TW_UNSUPPORTED)
        << layout.text << " to " << to.name << ": " << tw_error_message();
    if (!is_legal) {
      EXPECT_EQ(data, Bytes(data.size(), unwritten));
    }
  }
}

/// One for each layout that they read, but for those that plans do not take: with biases of f16,
/// and of codes whose values calls bring.
std::vector<const tw_kernel*> readers() {
  std::set<uint64_t> seen;
  std::vector<const tw_kernel*> rows = running_kernels();
  std::erase_if(rows, [&](const tw_kernel* row) {
    const tw_axes& axes = *row->rhs->axes;
    const bool given = axes.codes != nullptr && axes.codes->given != 0;
    const bool planned = row->dst == TW_F32 && axes.bias.type != TW_F16 && !given;
    return !planned || !seen.insert(row->rhs->id).second;
  });
  return rows;
}

INSTANTIATE_TEST_SUITE_P(Layouts, Unpack, testing::ValuesIn(readers()),
                         [](const auto& info) { return std::string(info.param->name); });

TEST(UnpackErrors, NameTheArgument) {
  const tw_kernel* kernel = nullptr;
  for (const tw_kernel* row : readers()) {
    if (std::strcmp(row->rhs->text,
                    "rhs i4 n4 kr4 pair=depth uu k%32 [data|sums:i32*1|scales:f32|bias:f32]") == 0)
      kernel = row;
  }
  ASSERT_NE(kernel, nullptr);
  const tw_layout& layout = *kernel->rhs;
  const std::string text = layout.text;
  const Plan plan = make_plan(*kernel, {10, 64});
  Weights weights(layout, {3, 64}, TW_NXK, false);
  const Bytes packed(tw_rhs_bytes(plan.get()));
  const auto good = described<tw_rhs_target>(weights);
  size_t column = 7, columns = 3;
  const auto unpack = [&](const tw_rhs_target* target) {
    return tw_unpack_rhs(plan.get(), packed.data(), packed.size(), column, columns, target);
  };
  const auto expect = [](tw_status status, tw_status wanted, const std::string& message) {
    EXPECT_EQ(status, wanted);
    EXPECT_EQ(tw_error_message(), "tw_unpack_rhs: " + message);
  };
  const auto fails = [&](const tw_rhs_target& target, tw_status wanted,
                         const std::string& message) { expect(unpack(&target), wanted, message); };
  EXPECT_EQ(unpack(&good), TW_OK);
  const size_t bytes = packed.size();
  expect(tw_unpack_rhs(nullptr, packed.data(), bytes, 0, 1, &good), TW_INVALID, "plan is null");
  expect(unpack(nullptr), TW_INVALID, "target is null");
  expect(tw_unpack_rhs(plan.get(), nullptr, bytes, 0, 1, &good), TW_INVALID, "packed is null");
  expect(tw_unpack_rhs(plan.get(), packed.data(), bytes - 1, 0, 1, &good), TW_TOO_SMALL,
         "packed_bytes is " + std::to_string(bytes - 1) + "; this plan needs " +
             std::to_string(bytes));
  tw_rhs_target bad = good;
  bad.size = 7;
  fails(bad, TW_INVALID, "target.size is 7; sizeof(tw_rhs_target) is legal");
  bad = good;
  bad.data = nullptr;
  fails(bad, TW_INVALID, "target.data is null");
  bad = good;
  bad.order = static_cast<tw_rhs_order>(TW_IQ1_FLAT + 1);
  fails(bad, TW_INVALID, "target.order is 25; 0 to 24, those of tw_rhs_order, are legal");
  bad = good;
  bad.stride = 31;
  fails(bad, TW_TOO_SMALL, "target.stride is 31; a row has 32 bytes");
  bad.order = TW_KXN;
  bad.stride = 1;
  fails(bad, TW_TOO_SMALL, "target.stride is 1; a row has 2 bytes");
  bad = good;
  bad.data_bytes -= 1;
  fails(bad, TW_TOO_SMALL, "target.data_bytes is 105; 3 rows with stride 37 need 106");
  bad = good;
  bad.scale_count = 2;
  fails(bad, TW_TOO_SMALL, "target.scale_count is 2; one of each of 3 columns is needed");
  bad = good;
  bad.bias_count = 2;
  fails(bad, TW_TOO_SMALL, "target.bias_count is 2; one of each of 3 columns is needed");
  const Bytes rows(3 * 200, 0);
  bad = good;
  bad.data = const_cast<uint8_t*>(rows.data());
  bad.data_bytes = rows.size();
  bad.stride = 200;
  bad.order = TW_NXK_BF16;
  fails(bad, TW_UNSUPPORTED,
        "target.order is nxk_bf16, values of bf16; layout " + text +
            " keeps s4, and what was converted does not come back bit by bit");
  bad.order = TW_Q4_1;
  fails(bad, TW_UNSUPPORTED,
        "target.order is q4_1, whose blocks have minimums; layout " + text + " keeps none");
  bad.order = TW_Q5_0;
  fails(bad, TW_UNSUPPORTED,
        "target.order is q5_0, whose codes have 5 bits; those of layout " + text + " have 4");
  bad.order = TW_IQ4_NL;
  fails(bad, TW_UNSUPPORTED,
        "target.order is iq4_nl, whose codes are iq4; those of layout " + text + " are numbers");
  bad.order = TW_Q4_0;
  fails(bad, TW_UNSUPPORTED,
        "target.order is q4_0, which has a scale of f16 for every 32 values; layout " + text +
            " has not");
  column = 8;
  fails(good, TW_INVALID, "column is 8 and columns 3; this plan has 10 in all");
  column = 11;
  columns = 0;
  fails(good, TW_INVALID, "column is 11 and columns 0; this plan has 10 in all");
  column = SIZE_MAX;
  columns = 2;
  fails(good, TW_INVALID,
        "column is " + std::to_string(SIZE_MAX) + " and columns 2; this plan has 10 in all");
  column = 10;
  columns = 0;
  EXPECT_EQ(unpack(&good), TW_OK);
  EXPECT_EQ(rows, Bytes(rows.size(), 0));
}

TEST(UnpackErrors, FloatsHaveNoScales) {
  for (const tw_kernel* row : readers()) {
    if (row->rhs->data_bits != 32) continue;
    const Plan plan = make_plan(*row, {1, 1});
    Weights weights(*row->rhs, {1, 1}, TW_NXK, false);
    const Bytes packed(tw_rhs_bytes(plan.get()));
    auto target = described<tw_rhs_target>(weights);
    target.scales = weights.bias.data();
    EXPECT_EQ(tw_unpack_rhs(plan.get(), packed.data(), packed.size(), 0, 1, &target), TW_INVALID);
    EXPECT_EQ(tw_error_message(), "tw_unpack_rhs: target.scales is set; layout " +
                                      std::string(row->rhs->text) + " has none, null is legal");
    target.scales = nullptr;
    target.unsigned_nibbles = 1;
    EXPECT_EQ(tw_unpack_rhs(plan.get(), packed.data(), packed.size(), 0, 1, &target), TW_INVALID);
    EXPECT_EQ(std::string(tw_error_message()),
              "tw_unpack_rhs: target.unsigned_nibbles is 1; the weights of this plan have 32 bits, "
              "so that 0 is legal");
  }
}

}  // namespace
}  // namespace tw::test::unpack_test
