// Attention in plain C++, in double. Shares no code with the generator.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "reference/rows_reference.h"

namespace tw::test {

struct Attention {
  size_t queries = 1, positions = 1;
  size_t heads = 1, kv_heads = 1;
  size_t key_size = 64, value_size = 64;
  std::string key_type = "f16", value_type = "f16";  ///< as rows_reference.h has them
  std::string mask_type = "f16";
  std::vector<float> q;  ///< [queries][heads][key_size]
  std::vector<float> k;  ///< [positions][kv_heads][key_size], values of its type
  std::vector<float> v;  ///< [positions][kv_heads][value_size], likewise
  std::vector<RowScale> k_scales, v_scales;  ///< [positions][kv_heads], of s8
  std::vector<float> mask;   ///< [mask_heads][queries][positions], values of its type; or none
  size_t mask_heads = 1;     ///< 1 or heads
  std::vector<float> sinks;  ///< [heads], or none
  float scale = 1, softcap = 0, max_bias = 0;

  [[nodiscard]] size_t group() const { return heads / kv_heads; }
};

/// What heads multiply their masks with: the first 2^i heads have powers of 2^(-bias / 2^i), the
/// others odd powers of the root of that.
inline double slope_of(const Attention& in, size_t head) {
  if (in.max_bias <= 0) return 1;
  const double power = std::exp2(std::floor(std::log2(static_cast<double>(in.heads))));
  const auto number = static_cast<double>(head);
  if (number < power) return std::exp2(-double{in.max_bias} / power * (number + 1));
  return std::exp2(-double{in.max_bias} / 2 / power * (2 * (number - power) + 1));
}

/// What a value of a row of s8 may be smaller than what is summed up for it: code and zero point.
inline double summed_apart(const std::vector<RowScale>& scales, size_t row) {
  return scales.empty() ? 0 : 2 * std::fabs(double{scales[row].scale} * scales[row].zero);
}

/// A score, and how far an f32 may be from it.
struct Score {
  double value = 0, error = 0;
};

constexpr double unit = 0x1p-24;  ///< of rounding, relative

inline Score score_of(const Attention& in, size_t query, size_t head, size_t position) {
  const float* q = &in.q[(query * in.heads + head) * in.key_size];
  const size_t row_of_k = position * in.kv_heads + head / in.group();
  const float* k = &in.k[row_of_k * in.key_size];
  const double apart = summed_apart(in.k_scales, row_of_k);
  double sum = 0;
  double sizes = 0;
  for (size_t i = 0; i < in.key_size; ++i) {
    sum += double{q[i]} * k[i];
    sizes += std::fabs(double{q[i]}) * (std::fabs(double{k[i]}) + apart);
  }
  const double scale = std::fabs(double{in.scale});
  Score score{sum * in.scale, static_cast<double>(in.key_size + 4) * unit * sizes * scale};
  if (in.softcap != 0) {
    score.value = in.softcap * std::tanh(score.value / in.softcap);
    score.error += 8 * unit * std::fabs(double{in.softcap});
  }
  if (!in.mask.empty()) {
    const size_t row = (in.mask_heads == 1 ? 0 : head) * in.queries + query;
    const double by = slope_of(in, head) * in.mask[row * in.positions + position];
    score.value += by;
    if (std::isfinite(by)) score.error += 4 * unit * (std::fabs(by) + std::fabs(score.value));
  }
  return score;
}

/// An output, and how far an f32 may be from it.
using Output = Score;

/// All of a head of a query's outputs.
inline std::vector<Output> attend(const Attention& in, size_t query, size_t head) {
  std::vector<Score> scores;
  double most = in.sinks.empty() ? -INFINITY : in.sinks[head];
  for (size_t p = 0; p < in.positions; ++p) {
    scores.push_back(score_of(in, query, head, p));
    // A NaN makes all outputs NaNs.
    if (!(scores.back().value <= most)) most = scores.back().value;
  }
  std::vector<Output> out(in.value_size);
  if (most == -INFINITY) return out;  // nothing has a weight
  double weights = in.sinks.empty() ? 0 : std::exp(in.sinks[head] - most);
  double off = weights * 8 * unit;
  std::vector<double> sizes(in.value_size);
  std::vector<double> sums_off(in.value_size);
  for (size_t p = 0; p < in.positions; ++p) {
    const double below = scores[p].value - most;
    const double weight = std::exp(below);
    // Rounding of the difference, the exponential's own, and what became of both in later blocks.
    double relative = scores[p].error + 32 * unit;
    if (std::isfinite(below)) relative += 2 * unit * std::fabs(below);
    weights += weight;
    off += weight == 0 ? 0 : weight * relative;
    const size_t row = p * in.kv_heads + head / in.group();
    const double apart = summed_apart(in.v_scales, row);
    for (size_t i = 0; i < in.value_size; ++i) {
      const double value = in.v[row * in.value_size + i];
      out[i].value += weight * value;
      sizes[i] += weight * (std::fabs(value) + apart);
      sums_off[i] += weight == 0 ? 0 : weight * std::fabs(value) * relative;
    }
  }
  const double terms = static_cast<double>(in.positions + 16) * unit;
  for (size_t i = 0; i < in.value_size; ++i) {
    const double value = out[i].value / weights;
    out[i] = {value, (sums_off[i] + terms * sizes[i] + std::fabs(value) * (off + terms * weights)) /
                             weights +
                         1e-30};
  }
  return out;
}

/// Values for a shape that is set. A row's scores are some units apart.
inline void fill_attention(Attention& in, uint32_t seed) {
  std::mt19937 random(seed);
  const auto fill = [&](std::vector<float>& values, size_t count, const std::string& type) {
    values.resize(count);
    for (float& x : values) x = static_cast<float>(static_cast<int>(random() % 4001) - 2000) / 1000;
    round_rows(type, values);
  };
  /// Such that values are exact.
  const auto fill_codes = [&](std::vector<float>& values, size_t row_values,
                              std::vector<RowScale>& scales) {
    constexpr int8_t zeros[] = {-128, -37, 0, 5, 127};
    for (RowScale& s8 : scales) {
      s8 = {static_cast<float>(1 + random() % 63) / 4096, zeros[random() % 5]};
    }
    for (size_t i = 0; i < values.size(); ++i) {
      const RowScale& s8 = scales[i / row_values];
      const int code = random() % 8 == 0 ? -128 : static_cast<int>(random() % 256) - 128;
      values[i] = static_cast<float>(code - s8.zero) * s8.scale;
    }
  };
  const auto fill_rows = [&](std::vector<float>& values, size_t row_values, const std::string& type,
                             std::vector<RowScale>& scales) {
    const size_t rows = in.positions * in.kv_heads;
    scales.resize(type == "s8" ? rows : 0);
    values.resize(rows * row_values);
    if (type == "s8") return fill_codes(values, row_values, scales);
    fill(values, values.size(), type);
  };
  fill(in.q, in.queries * in.heads * in.key_size, "f32");
  fill_rows(in.k, in.key_size, in.key_type, in.k_scales);
  fill_rows(in.v, in.value_size, in.value_type, in.v_scales);
  in.scale = 2 / std::sqrt(static_cast<float>(in.key_size));
}

/// Positions behind a query's own are masked, the last query has all; others are farther away.
inline void fill_mask(Attention& in, size_t mask_heads, uint32_t seed) {
  std::mt19937 random(seed);
  in.mask_heads = mask_heads;
  in.mask.resize(mask_heads * in.queries * in.positions);
  for (size_t i = 0; i < in.mask.size(); ++i) {
    const size_t position = i % in.positions;
    const size_t query = i / in.positions % in.queries;
    const bool hidden = position + in.queries > in.positions + query || random() % 8 == 0;
    in.mask[i] = hidden ? -INFINITY : -static_cast<float>(random() % 64) / 16;
  }
}

}  // namespace tw::test
