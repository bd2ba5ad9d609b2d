// Quantized matrix multiplications in plain C++, from unpacked operands. Shares no code with the
// generator or its interpreter. The order of operations is the families' definition, so kernels
// agree with it bit for bit (NaN payloads apart).
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/fused.h"
#include "reference/quantize_reference.h"

namespace tw::test {

/// Scales and minimums of blocks in whole steps.
struct Numbers {
  std::vector<int> scales, minimums;              ///< [n][blocks]
  std::vector<float> scale_steps, minimum_steps;  ///< [n][super-blocks]
};

/// Operands as integer codes. Without blocks (block == 0) a row and a column have one scale each;
/// with them a column has one per block, and so has a row if row_blocks says so.
struct Codes {
  size_t m = 0, n = 0, k = 0;
  size_t block = 0;         ///< values of k that share a scale; divides k
  std::vector<int8_t> lhs;  ///< [m][k]
  bool row_blocks = false;
  std::vector<int32_t> zero_points;  ///< [m], of the lhs; zeros with row_blocks
  std::vector<float> lhs_scales;     ///< [m][lhs_blocks]
  std::vector<int8_t> rhs;           ///< [n][k]
  std::vector<float> rhs_scales;     ///< [n][blocks]
  std::vector<float> rhs_zeros;      ///< [n][blocks], or none: zero points, in units of codes
  std::vector<float> rhs_minimums;   ///< [n][blocks], or none: what a block's code -half is worth
  Numbers numbers;                   ///< what those and the scales are products of, or none
  int half = 8;                      ///< with minimums: minus the code that those are worth
  std::vector<float> bias;           ///< [n]
  std::vector<float> old;            ///< [m][n], what outputs are added to; or none
  float min = -INFINITY;
  float max = INFINITY;
  int factor = 1;  ///< sums are taken so many times, column scales a part of it (without blocks, or
                   ///< with offsets)
  std::vector<bool> sixteenfold;  ///< [n] or none: with blocks, sums are taken 16 times at first
  bool scales_first = false;      ///< with row_blocks: a block's two scales are multiplied first
  bool from_lowest = false;       ///< with minimums: codes are multiplied as they count from those
  bool offsets = false;           ///< zero points are kept times their scale
  int32_t dst_zero_point = 0;     ///< where outputs are codes

  [[nodiscard]] size_t blocks() const { return block == 0 ? 1 : k / block; }
  [[nodiscard]] size_t lhs_blocks() const { return row_blocks ? blocks() : 1; }
};

/// A NaN stays one.
inline float clamp_output(float value, float lower, float upper) {
  const float raised = lower > value ? lower : value;
  return upper < raised ? upper : raised;
}

/// Sum of (lhs code) * (rhs code) over `count` values of k, exact.
inline int32_t dot(const int8_t* a, const int8_t* b, size_t count) {
  int32_t products = 0;
  for (size_t i = 0; i < count; ++i) products += a[i] * b[i];
  return products;
}

/// `count` sums of codes, `length` values each.
inline std::vector<int32_t> sums_of(const std::vector<int8_t>& codes, size_t count, size_t length) {
  std::vector<int32_t> sums(count);
  for (size_t i = 0; i < count; ++i) {
    for (size_t j = 0; j < length; ++j) sums[i] += codes[i * length + j];
  }
  return sums;
}

/// Of codes, over blocks or, without those, over all of k. Taken once: every output needs them.
struct Sums {
  explicit Sums(const Codes& in)
      : length(in.block == 0 ? in.k : in.block),
        lhs(sums_of(in.lhs, in.m * in.blocks(), length)),
        rhs(sums_of(in.rhs, in.n * in.blocks(), length)) {}
  size_t length;
  std::vector<int32_t> lhs;  ///< [m][blocks]
  std::vector<int32_t> rhs;  ///< [n][blocks]
};

/// A block's sum of a column with minimums, added to a total: products of codes, and of what code
/// 0 is worth, in units of the row's scale. Where scales are multiplied first one after the other.
/// `times`: what is summed up is taken so often.
inline float add_minimum(const Codes& in, size_t row, size_t column, size_t block, int32_t products,
                         float row_sum, int times, float total) {
  const size_t at = column * in.blocks() + block;
  const float row_scale = in.lhs_scales[row * in.blocks() + block];
  auto sum = static_cast<float>(times * products);
  float middle = in.rhs_scales[at] * static_cast<float>(-in.half) - in.rhs_minimums[at];
  if (in.from_lowest) {
    sum += static_cast<float>(in.half) * row_sum;  // exact
    middle = 0 - in.rhs_minimums[at];
  }
  if (in.scales_first) {
    total = fused(-row_sum * row_scale, middle, total);
    return fused(sum, row_scale * in.rhs_scales[at], total);
  }
  const float real = fused(-row_sum, middle, sum * in.rhs_scales[at]);
  return fused(real, row_scale, total);
}

/// Sums of the blocks' products, scaled one after the other. Zero points are left out, as if they
/// were 0; what that adds up to is taken back at the end.
inline float multiply_blocks(const Codes& in, const Sums& sums, size_t row, size_t column) {
  const size_t row_blocks = row * in.blocks(), column_blocks = column * in.blocks();
  const float* scales = in.rhs_scales.data() + column_blocks;
  const bool high = !in.sixteenfold.empty() && in.sixteenfold[column];
  float total = 0;
  float column_sum = 0;
  for (size_t b = 0; b < in.blocks(); ++b) {
    const int32_t products = dot(in.lhs.data() + row * in.k + b * in.block,
                                 in.rhs.data() + column * in.k + b * in.block, in.block);
    const float taken = static_cast<float>(sums.lhs[row_blocks + b]) * (high ? 16 : 1);
    if (!in.rhs_minimums.empty()) {
      total = add_minimum(in, row, column, b, products, taken, high ? 16 : 1, total);
      continue;
    }
    auto sum = static_cast<float>(high ? 16 * products : products);
    float scale = scales[b];
    if (in.offsets) {
      sum *= static_cast<float>(in.factor);
      scale /= static_cast<float>(in.factor);
      const float offset = 0 - in.rhs_zeros[column_blocks + b] * scales[b];
      total = fused(taken * in.lhs_scales[row_blocks + b], offset, total);
    } else if (!in.rhs_zeros.empty() && in.scales_first) {
      const float zero = in.rhs_zeros[column_blocks + b] * scale;
      total = fused(-taken * in.lhs_scales[row_blocks + b], zero, total);
    } else if (!in.rhs_zeros.empty()) {
      sum = fused(-in.rhs_zeros[column_blocks + b], taken, sum);
    }
    if (in.row_blocks) (in.scales_first ? scale : sum) *= in.lhs_scales[row_blocks + b];
    total = fused(sum, scale, total);
    column_sum = fused(static_cast<float>(sums.rhs[column_blocks + b]), scales[b], column_sum);
  }
  if (high) total *= 0.0625F;
  if (in.row_blocks) return total + in.bias[column];
  total = fused(column_sum, static_cast<float>(-in.zero_points[row]), total);
  return fused(total, in.lhs_scales[row], in.bias[column]);
}

/// A sum without blocks as f32: of (code - zero point) * code, of a column with a zero point less
/// that times the row's sum of (code - zero point).
inline float real_sum(const Codes& in, const Sums& sums, size_t row, size_t column) {
  const int32_t zero = in.zero_points[row];
  const int32_t products = dot(in.lhs.data() + row * in.k, in.rhs.data() + column * in.k, in.k);
  const auto sum = static_cast<float>(in.factor * (products - zero * sums.rhs[column]));
  if (in.rhs_zeros.empty()) return sum;
  const int32_t total = sums.lhs[row] - zero * static_cast<int32_t>(in.k);
  return fused(-in.rhs_zeros[column], static_cast<float>(total), sum);
}

/// [m][n]: fma(factor * sum, scale of the column / factor * scale of the row, bias), added to what
/// was there, clamped; the factor is a power of two, so that it shows in denormal numbers only.
inline std::vector<float> multiply(const Codes& in) {
  const Sums sums(in);
  std::vector<float> out;
  out.reserve(in.m * in.n);
  for (size_t row = 0; row < in.m; ++row) {
    for (size_t column = 0; column < in.n; ++column) {
      float total = 0;
      if (in.block == 0) {
        const float sum = real_sum(in, sums, row, column);
        const float scale = in.rhs_scales[column] / static_cast<float>(in.factor);
        total = fused(sum, scale * in.lhs_scales[row], in.bias[column]);
      } else {
        total = multiply_blocks(in, sums, row, column);
      }
      if (!in.old.empty()) total += in.old[out.size()];
      out.push_back(clamp_output(total, in.min, in.max));
    }
  }
  return out;
}

/// What a caller of matmul_clamp_f32_qai8dxp_qsi4cxp and its like has: floats on the left.
struct Matmul {
  size_t m = 0, n = 0, k = 0;
  std::vector<float> lhs;       ///< [m][k]
  std::vector<int8_t> rhs;      ///< [n][k], codes
  std::vector<float> scales;    ///< [n][blocks]
  std::vector<float> zeros;     ///< as Codes::rhs_zeros
  std::vector<float> minimums;  ///< as Codes::rhs_minimums
  Numbers numbers;              ///< what scales and minimums are products of, or none
  std::vector<float> bias;      ///< [n]
  std::vector<float> old;       ///< as in Codes
  float min = -INFINITY;
  float max = INFINITY;
  size_t block = 0;               ///< as in Codes
  bool row_blocks = false;        ///< likewise
  Ties ties = Ties::even;         ///< how the lhs is rounded
  bool half_scales = false;       ///< of its blocks
  int half = 8;                   ///< as in Codes
  int factor = 1;                 ///< likewise
  std::vector<bool> sixteenfold;  ///< likewise
  bool scales_first = false;      ///< likewise
  bool from_lowest = false;       ///< likewise
  bool offsets = false;           ///< likewise
};

/// [m][n]
inline std::vector<float> multiply(const Matmul& in) {
  Codes codes;
  codes.m = in.m;
  codes.n = in.n;
  codes.k = in.k;
  codes.block = in.block;
  codes.row_blocks = in.row_blocks;
  for (size_t row = 0; row < in.m; ++row) {
    const float* values = in.lhs.data() + row * in.k;
    const auto add = [&](const QuantizedRow& lhs) {
      codes.lhs.insert(codes.lhs.end(), lhs.codes.begin(), lhs.codes.end());
      codes.lhs_scales.push_back(lhs.scale);
      return lhs.zero_point;
    };
    codes.zero_points.push_back(in.row_blocks ? 0
                                              : add(quantize_row_qai8dx(values, in.k, in.ties)));
    for (size_t b = 0; in.row_blocks && b < codes.blocks(); ++b) {
      add(quantize_block_qsi8d32(values + b * in.block, in.block, {in.ties, in.half_scales}));
    }
  }
  codes.rhs = in.rhs;
  codes.rhs_scales = in.scales;
  codes.rhs_zeros = in.zeros;
  codes.rhs_minimums = in.minimums;
  codes.bias = in.bias;
  codes.old = in.old;
  codes.min = in.min;
  codes.max = in.max;
  codes.half = in.half;
  codes.factor = in.factor;
  codes.sixteenfold = in.sixteenfold;
  codes.scales_first = in.scales_first;
  codes.from_lowest = in.from_lowest;
  codes.offsets = in.offsets;
  return multiply(codes);
}

}  // namespace tw::test
