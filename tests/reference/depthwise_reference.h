// Depthwise convolutions in plain C++. Shares no code with the generator.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "reference/fused.h"
#include "reference/half_reference.h"
#include "reference/static_reference.h"

namespace tw::test {

struct Depthwise {
  size_t height = 1, width = 1, channels = 1;
  size_t taps_y = 3, taps_x = 3, stride = 1;
  size_t top = 0, bottom = 0, left = 0, right = 0;
  std::string type = "f32";    ///< of pixels, weights and outputs: "f32", "f16" or "i8"
  bool by_column = false;      ///< taps are added up column by column, else line by line
  bool fused = true;           ///< floats: products are not rounded by themselves
  std::vector<float> input;    ///< [height][width][channels], values of that type
  std::vector<float> weights;  ///< [taps][channels], likewise
  std::vector<float> bias;     ///< [channels]; of codes whole numbers
  float min = -INFINITY, max = INFINITY;
  // Of codes:
  int32_t lhs_zero_point = 0, dst_zero_point = 0;
  float lhs_scale = 1, dst_scale = 1;
  std::vector<float> scales;  ///< [channels]

  [[nodiscard]] bool codes() const { return type == "i8"; }
  [[nodiscard]] size_t value_bytes() const { return bytes_of_float(type); }
  [[nodiscard]] size_t taps() const { return taps_y * taps_x; }
  [[nodiscard]] size_t lines() const { return (height + top + bottom - taps_y) / stride + 1; }
  [[nodiscard]] size_t columns() const { return (width + left + right - taps_x) / stride + 1; }
};

/// What stands in a channel of the padded input.
inline float padded_value(const Depthwise& in, size_t line, size_t column, size_t channel) {
  const bool inside = line >= in.top && line < in.top + in.height && column >= in.left &&
                      column < in.left + in.width;
  if (!inside) return static_cast<float>(in.lhs_zero_point);  // 0 of floats
  return in.input[((line - in.top) * in.width + column - in.left) * in.channels + channel];
}

/// The taps of an output's channel.
inline std::vector<float> taps_of(const Depthwise& in, size_t line, size_t column, size_t channel) {
  std::vector<float> values;
  for (size_t t = 0; t < in.taps(); ++t) {
    values.push_back(padded_value(in, line * in.stride + t / in.taps_x,
                                  column * in.stride + t % in.taps_x, channel));
  }
  return values;
}

inline int depthwise_code(const Depthwise& in, const std::vector<float>& taps, size_t channel) {
  StaticMatmul one;
  one.m = one.n = 1;
  one.k = taps.size();
  for (size_t t = 0; t < taps.size(); ++t) {
    one.lhs.push_back(static_cast<int8_t>(taps[t]));
    one.rhs.push_back(static_cast<int8_t>(in.weights[t * in.channels + channel]));
  }
  one.lhs_zero_point = in.lhs_zero_point;
  one.dst_zero_point = in.dst_zero_point;
  one.lhs_scale = in.lhs_scale;
  one.dst_scale = in.dst_scale;
  one.scales = {in.scales[channel]};
  one.bias = {static_cast<int32_t>(in.bias[channel])};
  one.min = static_cast<int>(in.min);
  one.max = static_cast<int>(in.max);
  return output_code(one, 0, 0);
}

/// From the bias on, tap by tap; the value before it is rounded to the type of outputs.
inline float depthwise_output(const Depthwise& in, size_t line, size_t column, size_t channel) {
  const std::vector<float> taps = taps_of(in, line, column, channel);
  if (in.codes()) return static_cast<float>(depthwise_code(in, taps, channel));
  float sum = in.bias[channel];
  for (size_t i = 0; i < taps.size(); ++i) {
    const size_t t = in.by_column ? i % in.taps_y * in.taps_x + i / in.taps_y : i;
    const float weight = in.weights[t * in.channels + channel];
    const volatile float product = taps[t] * weight;  // no compiler makes one operation of both
    sum = in.fused ? fused(taps[t], weight, sum) : product + sum;
  }
  const float raised = in.min > sum ? in.min : sum;
  return in.max < raised ? in.max : raised;
}

/// Bytes of values.
inline std::vector<uint8_t> bytes_of_values(const std::string& type,
                                            const std::vector<float>& values) {
  const size_t size = bytes_of_float(type);
  std::vector<uint8_t> bytes(values.size() * size);
  for (size_t i = 0; i < values.size(); ++i) {
    const uint32_t bits = float_bits(type, values[i]);
    std::memcpy(bytes.data() + i * size, &bits, size);
  }
  return bytes;
}

/// Outputs, line by line, as they are in memory.
inline std::vector<uint8_t> depthwise_outputs(const Depthwise& in) {
  std::vector<float> outputs;
  for (size_t line = 0; line < in.lines(); ++line) {
    for (size_t column = 0; column < in.columns(); ++column) {
      for (size_t c = 0; c < in.channels; ++c) {
        outputs.push_back(rounded_to(in.type, depthwise_output(in, line, column, c)));
      }
    }
  }
  return bytes_of_values(in.type, outputs);
}

/// Of so many channels; the bias, of the weights' type, first.
struct DepthwisePanels {
  size_t channels = 1;
  bool bias_first = false;
};

/// Weights in panels: taps, bias, scales of codes.
inline std::vector<uint8_t> packed_depthwise(const Depthwise& in, const DepthwisePanels& panels) {
  const size_t lanes = panels.channels;
  std::vector<uint8_t> bytes;
  const auto append = [&](const std::string& type, float value) {
    const std::vector<uint8_t> more = bytes_of_values(type, {value});
    bytes.insert(bytes.end(), more.begin(), more.end());
  };
  for (size_t first = 0; first < in.channels; first += lanes) {
    const auto each = [&](auto&& visit) {
      for (size_t c = first; c < first + lanes; ++c) visit(c, c < in.channels);
    };
    if (panels.bias_first) {
      each([&](size_t c, bool exists) { append(in.type, exists ? in.bias[c] : 0); });
    }
    const size_t multiple = in.codes() ? 4 : 1;
    for (size_t t = 0; t < (in.taps() + multiple - 1) / multiple * multiple; ++t) {
      each([&](size_t c, bool exists) {
        append(in.type, exists && t < in.taps() ? in.weights[t * in.channels + c] : 0);
      });
    }
    if (panels.bias_first) continue;
    each([&](size_t c, bool exists) {
      if (!in.codes()) return append("f32", exists ? in.bias[c] : 0);
      auto folded = static_cast<uint32_t>(exists ? static_cast<int32_t>(in.bias[c]) : 0);
      for (size_t t = 0; exists && t < in.taps(); ++t) {
        const auto weight = static_cast<int32_t>(in.weights[t * in.channels + c]);
        folded -= static_cast<uint32_t>(in.lhs_zero_point * weight);
      }
      float bits = 0;
      std::memcpy(&bits, &folded, sizeof bits);
      append("f32", bits);
    });
    if (!in.codes()) continue;
    each([&](size_t c, bool exists) {
      const float real = exists ? in.lhs_scale * in.scales[c] : 0;
      append("f32", real / in.dst_scale);
    });
  }
  return bytes;
}

/// Values for a shape that is set; of codes about half of the outputs lie within the limits.
inline void fill_depthwise(Depthwise& in, uint32_t seed) {
  std::mt19937 random(seed);
  const auto code = [&](int from, int to) {
    return static_cast<float>(from +
                              static_cast<int>(random() % static_cast<unsigned>(to - from + 1)));
  };
  const auto fill = [&](std::vector<float>& values, size_t count) {
    values.resize(count);
    for (float& x : values)
      x = in.codes() ? code(-128, 127) : rounded_to(in.type, code(-9999, 9999) / 4096);
  };
  fill(in.input, in.height * in.width * in.channels);
  fill(in.weights, in.taps() * in.channels);
  fill(in.bias, in.channels);
  if (!in.codes()) return;
  for (float& x : in.bias) x = code(-20000, 20000);
  in.scales.clear();
  for (size_t c = 0; c < in.channels; ++c)
    in.scales.push_back(0.001F + 0.0003F * static_cast<float>(c % 5));
  in.lhs_zero_point = -9;
  in.dst_zero_point = 5;
  in.lhs_scale = 0.7F;
  in.dst_scale = 1.3F;
  in.min = -128;
  in.max = 127;
}

}  // namespace tw::test
