#include "kernels/case.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <span>
#include <sstream>

#include "reference/half_reference.h"
#include "reference/pack_reference.h"

namespace tw::test {
namespace {

const char* const values_names[] = {
    "random",          "extreme",     "equal",      "zeros",          "outlier",
    "denormal scales", "huge scales", "not finite", "lhs not finite", "lhs limits"};
const char* const bias_names[] = {"no bias", "packed bias", "bias argument"};
const char* const clamp_names[] = {"no clamp", "lower clamp", "upper clamp", "clamp"};

/// A small generator with the same numbers everywhere.
struct Random {
  uint32_t state;
  uint32_t next() {
    state = state * 1664525U + 1013904223U;
    return state >> 8;
  }
  /// Without a division, which an emulator takes dozens of instructions for.
  int32_t below(int32_t limit) {
    return static_cast<int32_t>(uint64_t{next()} * static_cast<uint32_t>(limit) >> 24);
  }
  float real(float from, float to) {
    return from + (to - from) * static_cast<float>(next()) / 16777216.0F;
  }
};

/// A thousand values between -3 and 5. Not made anew: rows have most of a case's values, and
/// emulated machines take dozens of instructions for one of floats.
using UsualValues = std::array<float, 1024>;
UsualValues usual_values() {
  Random random{1};
  UsualValues values;
  for (float& value : values) value = random.real(-3, 5);
  return values;
}

// Rows and columns at once, since emulated machines take long for each jump between pages.

/// `row` alternates the signs of extreme values: one side's codes are all -128, then all 127.
void put_lhs(Values values, size_t row, Random& random, std::span<float> out) {
  static const UsualValues usual = usual_values();
  const float special[] = {NAN, INFINITY, -INFINITY};
  const float size[] = {1e-44F, 3e38F, 1e-38F, 1e30F};
  switch (values) {
    case Values::extreme:
      return std::fill(out.begin(), out.end(), row % 2 == 0 ? -1.0F : 1.0F);
    case Values::equal:
      return std::fill(out.begin(), out.end(), 1.5F);
    case Values::zeros:
      return std::fill(out.begin(), out.end(), 0.0F);
    case Values::outlier:
      for (float& value : out) value = random.real(-1, 1);
      if (row == 1 && !out.empty()) out[0] = 5000;
      return;
    case Values::lhs_limits:
      for (float& value : out) value = random.real(-1, 1) * size[row % 4];
      return;
    default:
      for (float& value : out) value = usual[random.next() % usual.size()];
  }
  const size_t at = 7 * (row % 4);
  if (values == Values::lhs_not_finite && row % 4 != 3 && at < out.size())
    out[at] = special[at / 7];
}

/// Bits of floats; all of them are finite, unless some are to be not.
void put_byte_floats(Values values, size_t column, const std::string& type, Random& random,
                     std::span<int8_t> out) {
  const auto fill = [&](int code) { std::fill(out.begin(), out.end(), static_cast<int8_t>(code)); };
  const int highest = type == "e4m3" ? 0x7e : 0x7b;
  if (values == Values::extreme) return fill(column % 3 == 0 ? highest : highest - 128);
  if (values == Values::equal) return fill(3);
  if (values == Values::zeros) return fill(column % 3 == 0 ? 0 : -128);
  for (int8_t& code : out) {
    code = static_cast<int8_t>(random.below(256) - 128);
    const bool finite = std::isfinite(byte_float_value(type, code));
    if (!finite && values != Values::not_finite) code = static_cast<int8_t>(code & ~4);
  }
}

/// Weights in floats are codes, too, times the column's scale.
void put_codes(Values values, size_t column, const Scaling& scaling, Random& random,
               std::span<int8_t> out) {
  if (!scaling.byte_floats.empty())
    return put_byte_floats(values, column, scaling.byte_floats, random, out);
  if (scaling.table != nullptr) {
    const std::span table(scaling.table->values, static_cast<size_t>(scaling.table->count));
    const auto [lowest, highest] = std::ranges::minmax(table);
    if (values == Values::extreme)
      return std::fill(out.begin(), out.end(), column % 3 == 0 ? highest : lowest);
    if (values == Values::equal) return std::fill(out.begin(), out.end(), table[3 % table.size()]);
    for (int8_t& code : out) code = table[random.below(scaling.table->count)];
    return;
  }
  const int count = 1 << std::min(scaling.weight_bits, 8);
  const int lowest = -scaling.middle(), highest = lowest + count - 1;
  const auto fill = [&](int code) { std::fill(out.begin(), out.end(), static_cast<int8_t>(code)); };
  switch (values) {
    case Values::extreme:
      return fill(column % 3 == 0 ? highest : lowest);
    case Values::equal:
      return fill(std::min(3, highest));
    case Values::zeros:
      return fill(0);
    default:
      for (int8_t& code : out) code = static_cast<int8_t>(random.below(count) + lowest);
  }
}

float rhs_scale(Values values, size_t column, Random& random) {
  if (values == Values::denormal_scales) return 1e-41F * random.real(1, 9);
  if (values == Values::huge_scales) return column % 2 == 0 ? 3e38F : 2e36F;
  const float special[] = {NAN, INFINITY, -INFINITY, 0, -0.0F, 3.4e38F, 1e-45F};
  if (values == Values::not_finite && column % 8 != 7) return special[column % 8];
  return random.real(0.001F, 0.02F);
}

float bias_value(Values values, size_t column, Random& random) {
  // A NaN of ones only is what rounding by integers must not carry out of.
  const float special[] = {INFINITY, std::bit_cast<float>(0x7FFFFFFFU), -INFINITY};
  if (values == Values::not_finite && column % 5 < 3) return special[column % 5];
  return random.real(-2, 2);
}

/// In units of codes, whose range it is within, or half a step outside.
float zero_point(Values values, size_t column, int bits, Random& random) {
  const float special[] = {NAN, 0, INFINITY, -1, -INFINITY, 3e38F};
  if (values == Values::not_finite && column % 7 < 6) return special[column % 7];
  const auto half = static_cast<float>(1 << (bits - 1));
  if (values == Values::extreme) return column % 2 == 0 ? -half : half - 1;
  return values == Values::zeros || column % 5 == 0 ? 0 : random.real(-half - 0.5F, half - 0.5F);
}

/// Of the lowest code: mostly below zero.
float minimum_value(Values values, size_t column, float scale, Random& random) {
  const float special[] = {NAN, 0, INFINITY, -1, -INFINITY, 6e4F};
  if (values == Values::not_finite && column % 7 < 6) return special[column % 7];
  if (values == Values::zeros || column % 5 == 0) return 0;
  return scale * random.real(-16, 2);
}

}  // namespace

std::string to_string(const Case& test) {
  std::ostringstream text;
  text << "m=" << test.m << " n=" << test.n << " k=" << test.k << " rows " << test.portion.m0
       << ".." << test.portion.m1 << " columns " << test.portion.n0 << ".." << test.portion.n1
       << ", " << values_names[static_cast<int>(test.values)] << ", "
       << bias_names[static_cast<int>(test.bias)] << ", "
       << clamp_names[static_cast<int>(test.clamp)] << ", flush "
       << (test.flush == Flush::end ? "end" : "start") << " misalign " << test.misalign
       << ", padding dst " << test.dst_padding << " panels " << test.panel_padding << ", prefetch "
       << test.prefetch << (test.kxn ? ", kxn " : ", nxk ")
       << (test.unsigned_nibbles ? "unsigned" : "signed");
  return text.str();
}

std::string scale_type(const tw_layout& rhs) {
  return scales_of(read_layout(rhs.text)).type;
}

/// Of the scales that make weights of codes; weights in floats are codes times scales of few bits.
static std::string made_scale_type(const tw_kernel& kernel, const CodeValues* table) {
  if (table != nullptr && *table->scales != 0) return table->scales;
  const std::string kept = scale_type(*kernel.rhs);
  return kept.empty() ? "bf16" : kept;
}

Scaling scaling_of(const tw_kernel& kernel) {
  const tw_axes* axes = kernel.rhs->axes;
  const LayoutText& rhs = read_layout(kernel.rhs->text);
  const CodeValues* table = code_values(rhs.table);
  const bool joined = rhs.super_block != 0 && rhs.bits == 8;  // of Q6_K
  return {rhs.block,
          scales_of(read_layout(kernel.lhs->text)).per_block,
          made_scale_type(kernel, table),
          joined ? 6 : static_cast<int>(kernel.rhs->data_bits + rhs.top_bits),
          has_offsets(rhs) || (axes != nullptr && axes->zero_points.type != TW_TYPE_NONE),
          axes != nullptr && axes->minimums.type != TW_TYPE_NONE,
          table,
          rhs.steps() ? rhs.super_block : 0,
          rhs.least_number(),
          rhs.most_number(),
          static_cast<int>(rhs.minimums ? rhs.bits : 0),
          is_byte_float(rhs.type) ? rhs.type : ""};
}

/// Scales and minimums as products of 6 bits, without minimums of signed bytes, and steps of f16,
/// in the place of those that are there.
static void make_super_blocks(const Case& test, const Scaling& scaling, Random& random,
                              Matmul& problem) {
  Numbers& numbers = problem.numbers;
  const size_t together = scaling.super_block / scaling.block, blocks = test.k / scaling.block;
  for (size_t i = 0; i < test.n * blocks; ++i) {
    const size_t column = i / blocks;
    if (i % together == 0) {
      const float step = rhs_scale(test.values, column, random) / 32;
      numbers.scale_steps.push_back(rounded_to("f16", step));
      const float least = minimum_value(test.values, column, step * 32, random) / -32;
      numbers.minimum_steps.push_back(rounded_to("f16", least));
    }
    const int count = scaling.most_number - scaling.least_number + 1;
    numbers.scales.push_back(random.below(count) + scaling.least_number);
    numbers.minimums.push_back(random.below(scaling.most_number + 1));
    problem.scales[i] = static_cast<float>(numbers.scales[i]) * numbers.scale_steps.back();
    if (!scaling.minimums) continue;
    problem.minimums[i] = -(static_cast<float>(numbers.minimums[i]) * numbers.minimum_steps.back());
  }
}

Matmul make_operands(const Case& test, const Scaling& scaling) {
  Random random{static_cast<uint32_t>(test.m * 7919 + test.n * 104729 + test.k * 31)};
  Matmul problem;
  problem.m = test.m;
  problem.n = test.n;
  problem.k = test.k;
  problem.block = scaling.block;
  problem.row_blocks = scaling.row_blocks;
  problem.half = scaling.middle();
  const size_t blocks = scaling.block == 0 ? 1 : test.k / scaling.block;
  problem.lhs.resize(test.m * test.k);
  problem.rhs.resize(test.n * test.k);
  for (size_t row = 0; row < test.m; ++row) {
    put_lhs(test.values, row, random, std::span(problem.lhs).subspan(row * test.k, test.k));
  }
  for (size_t column = 0; column < test.n; ++column) {
    put_codes(test.values, column, scaling, random,
              std::span(problem.rhs).subspan(column * test.k, test.k));
    for (size_t b = 0; b < blocks; ++b) {
      const float scale = rounded_to(scaling.type, rhs_scale(test.values, column, random));
      problem.scales.push_back(scaling.table != nullptr ? scale * scaling.table->unit : scale);
    }
    problem.bias.push_back(test.bias == Bias::none ? 0 : bias_value(test.values, column, random));
  }
  for (size_t i = 0; scaling.zero_points && i < test.n * blocks; ++i) {
    const float zero = zero_point(test.values, i / blocks, scaling.weight_bits, random);
    problem.zeros.push_back(rounded_to(scaling.type, zero));
  }
  for (size_t i = 0; scaling.minimums && i < test.n * blocks; ++i) {
    const float minimum = minimum_value(test.values, i / blocks, problem.scales[i], random);
    problem.minimums.push_back(rounded_to(scaling.type, minimum));
  }
  if (scaling.super_block != 0) make_super_blocks(test, scaling, random, problem);
  if (test.clamp == Clamp::lower || test.clamp == Clamp::both) problem.min = -0.75F;
  if (test.clamp == Clamp::upper || test.clamp == Clamp::both) problem.max = 0.5F;
  return problem;
}

std::vector<float> old_outputs(const Case& test, const std::string& type) {
  Random random{static_cast<uint32_t>(test.m * 31 + test.n * 7919 + test.k)};
  std::vector<float> old;
  for (size_t i = 0; i < test.m * test.n; ++i) {
    const float special[] = {INFINITY, NAN, -INFINITY};
    const bool here = test.values == Values::not_finite && i % 11 < 3;
    old.push_back(here ? special[i % 11] : rounded_to(type, random.real(-3, 3)));
  }
  return old;
}

}  // namespace tw::test
