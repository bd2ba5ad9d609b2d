#include "measure/operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace tw::measure {

namespace {

/// What a float has of bits behind the point, and as exponent of a size of about 1/128.
struct FloatBits {
  size_t mantissa;
  uint32_t exponent;
};
FloatBits bits_of(tw_type type) {
  switch (type) {
    case TW_F16:
      return {10, 8};
    case TW_BF16:
      return {7, 120};
    case TW_E4M3:
      return {3, 1};
    case TW_E5M2:
      return {2, 8};
    default:
      return {23, 120};
  }
}

bool is_byte_float(tw_type type) {
  return type == TW_E4M3 || type == TW_E5M2;
}

/// Random bits become a float between 1/128 and 1/4, of either sign.
void make_float(uint8_t* at, size_t bits, tw_type type) {
  const auto [mantissa, least] = bits_of(type);
  uint32_t value = 0;
  std::memcpy(&value, at, bits / 8);
  const uint32_t exponent = least + (value >> mantissa & 3U);
  const uint32_t kept = 1U << (bits - 1) | ((1U << mantissa) - 1);
  value = (value & kept) | exponent << mantissa;
  std::memcpy(at, &value, bits / 8);
}

float get_float(const uint8_t* at, tw_type type) {
  if (is_byte_float(type)) {
    const auto [mantissa, least] = bits_of(type);
    const int whole = 1 << mantissa, exponent = (*at & 127) >> mantissa;  // of normal numbers
    const int bias = static_cast<int>(least) + (type == TW_E4M3 ? 6 : 7);
    const auto digits = static_cast<float>(whole + (*at & (whole - 1)));
    const float size = std::ldexp(digits, exponent - bias - static_cast<int>(mantissa));
    return *at >> 7 == 0 ? size : -size;
  }
  if (type != TW_F16) {
    float value = 0;
    const size_t cut = type == TW_BF16 ? 2 : 0;  // its lower bytes
    std::memcpy(reinterpret_cast<uint8_t*>(&value) + cut, at, sizeof value - cut);
    return value;
  }
  uint16_t half = 0;
  std::memcpy(&half, at, sizeof half);
  const float size = std::ldexp(static_cast<float>(1024 + (half & 1023)), (half >> 10 & 31) - 25);
  return half >> 15 == 0 ? size : -size;
}

size_t code_bits(const tw_layout& rhs) {
  const tw_type tops = rhs.axes->tops.type;
  return rhs.data_bits + (tops == TW_S1 ? 1 : tops == TW_S2 ? 2 : 0);
}

}  // namespace

float Weights::value(size_t column, size_t depth) const {
  const uint8_t* at = &codes[column * stride() + depth * bits / 8];
  if (bits >= 16) return get_float(at, element);
  const float scale = scales[column * blocks() + (block == 0 ? 0 : depth / block)];
  if (is_byte_float(element)) return get_float(at, element) * scale;
  const uint8_t byte = *at;
  if (table != nullptr) return table->values[static_cast<int8_t>(byte) - lowest] * scale;
  if (bits == 8) return static_cast<float>(static_cast<int8_t>(byte)) * scale;
  const int half = 1 << (bits - 1);
  const int code = byte >> (depth * bits % 8) & (2 * half - 1);
  return static_cast<float>((code ^ half) - half) * scale;
}

const void* Weights::scale_data() const {
  if (half_scales.empty()) return scales.data();
  return half_scales.data();
}

Weights random_weights(size_t n, size_t k, const tw_layout& rhs, size_t bits) {
  Weights w;
  w.n = n;
  w.k = k;
  w.bits = bits != 0 ? bits : has_own_rows(*rhs.axes) ? 8 : rhs.data_bits;
  w.element = rhs.type;
  w.block = rhs.block;
  if (rhs.axes != nullptr) w.table = rhs.axes->codes;
  if (w.table != nullptr) w.lowest = -(1 << (code_bits(rhs) - 1));
  w.type = rhs.block_scales;
  w.codes.resize(n * w.stride());
  w.scales.resize(n * w.blocks());
  w.bias.resize(n);
  std::mt19937_64 random(1);
  for (size_t i = 0; i < w.codes.size(); i += sizeof(uint64_t)) {
    const uint64_t word = random();
    std::memcpy(&w.codes[i], &word, std::min(sizeof word, w.codes.size() - i));
  }
  if (w.bits >= 16) w.scales.clear();
  if (w.bits >= 16 || is_byte_float(w.element)) {
    for (size_t i = 0; i < n * k; ++i) make_float(&w.codes[i * w.bits / 8], w.bits, w.element);
  }
  if (bits == 0 && has_own_rows(*rhs.axes)) {
    for (uint8_t& code : w.codes) {
      code = static_cast<uint8_t>(static_cast<int8_t>(code) >> (8 - code_bits(rhs)));
    }
  }
  std::uniform_real_distribution<float> scale(0.001F, 0.01F), bias(-1, 1);
  // The same range of weights.
  const float part = rhs.data_bits == 8 && !is_byte_float(w.element) ? 1.0F / 16 : 1;
  for (float& s : w.scales) s = scale(random) * part;
  for (float& b : w.bias) b = bias(random);
  if (w.type != TW_SCALES_F32 && w.type != TW_SCALES_UNSET) {
    // Powers of two: f16 has 10 bits behind them, bf16 7, e8m0 none.
    for (float& s : w.scales) {
      int exponent = 0;
      std::frexp(s, &exponent);
      s = std::ldexp(1.0F, exponent - 1);
      const int power = exponent - 1;
      const int stored = w.type == TW_SCALES_F16    ? (power + 15) << 10
                         : w.type == TW_SCALES_BF16 ? (power + 127) << 7
                                                    : power + 127;
      w.half_scales.push_back(static_cast<uint16_t>(stored));
    }
  }
  return w;
}

namespace {

/// Sets a field's bits of value k of a row.
void put(uint8_t* row, const tw_field& field, size_t k, uint32_t value) {
  int64_t at = field.base.fixed;
  for (size_t i = 0; i < field.axis_count; ++i) {
    const tw_axis& axis = field.axes[i];
    const int64_t steps = static_cast<int64_t>(k) / axis.step.fixed;
    at += (axis.extent.fixed == 0 ? steps : steps % axis.extent.fixed) * axis.stride.fixed;
  }
  constexpr size_t widths[] = {0, 32, 16, 16, 32, 8, 8, 4, 2, 1, 8, 0, 8};  // of a tw_type
  for (size_t bit = 0; bit < widths[field.type]; ++bit, ++at) {
    row[at / 8] = static_cast<uint8_t>(row[at / 8] | (value >> bit & 1U) << at % 8);
  }
}

/// A power of two in f16, so many times.
uint32_t times(uint16_t half, uint32_t power) {
  return half + (power << 10);
}

/// How many steps a block's scale is.
void put_number(uint8_t* row, const tw_axes& axes, size_t k, int number) {
  const auto stored = static_cast<uint32_t>(number + axes.scales.offset);
  put(row, axes.scales, k, stored);
  if (axes.scale_tops.type == TW_TYPE_NONE) return;
  put(row, axes.scale_tops, k, stored >> (axes.scales.type == TW_S4 ? 4 : 8));
}

constexpr size_t shortest_block = 16;

void put_block(uint8_t* row, const tw_axes& axes, size_t k, uint16_t scale, uint32_t code_bits) {
  const bool steps = axes.scale_steps.type != TW_TYPE_NONE;
  const int left_out = axes.scales.type == TW_E5M3 ? 7 : 0;
  put(row, steps ? axes.scale_steps : axes.scales, k, scale >> left_out);
  if (axes.minimums.type == TW_TYPE_NONE) return;
  const uint32_t least = times(scale, code_bits - 1);
  put(row, steps ? axes.minimum_steps : axes.minimums, k, steps ? least : least + 0x8000U);
}

}  // namespace

bool has_own_rows(const tw_axes& axes) {
  return axes.minimums.type != TW_TYPE_NONE || axes.tops.type != TW_TYPE_NONE ||
         axes.codes != nullptr;
}

const tw_source& source_of(const tw_layout& rhs) {
  const tw_axes& axes = *rhs.axes;
  const tw_source* end = tw_generated_sources + tw_generated_source_count;
  return *std::find_if(tw_generated_sources, end, [&](const tw_source& source) {
    return source.block == rhs.block && source.axes.data.type == axes.data.type &&
           source.axes.tops.type == axes.tops.type && source.axes.codes == axes.codes &&
           (source.axes.minimums.type == TW_TYPE_NONE) == (axes.minimums.type == TW_TYPE_NONE);
  });
}

std::vector<uint8_t> source_rows(const Weights& weights, const tw_layout& rhs) {
  const tw_source& source = source_of(rhs);
  const tw_axes& axes = source.axes;
  const auto bits = static_cast<uint32_t>(code_bits(rhs));
  const size_t stride = weights.blocks() * source.block_bytes;
  std::vector<uint8_t> rows(weights.n * stride);
  for (size_t column = 0; column < weights.n; ++column) {
    uint8_t* row = rows.data() + column * stride;
    for (size_t k = 0; k < weights.k; ++k) {
      const int code = static_cast<int8_t>(weights.codes[column * weights.k + k]);
      const auto stored = static_cast<uint32_t>(code + (1 << (bits - 1)));
      put(row, axes.data, k, stored);
      if (axes.tops.type != TW_TYPE_NONE) put(row, axes.tops, k, stored >> rhs.data_bits);
      if (axes.scale_steps.type != TW_TYPE_NONE) {  // each is one step: 1 in the lowest bit
        put_number(row, axes, k, 1);
        if (axes.minimums.type != TW_TYPE_NONE) put(row, axes.minimums, k, 1);
      }
      if (k % shortest_block == 0) {  // all scales that stand together are one
        put_block(row, axes, k, weights.half_scales[column * weights.blocks() + k / source.block],
                  bits);
      }
    }
  }
  return rows;
}

std::vector<float> random_values(size_t count) {
  std::vector<float> values(count);
  std::mt19937_64 random(2);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (float& v : values) v = uniform(random);
  return values;
}

Copies::Copies(size_t bytes, size_t least)
    : stride_((bytes + 63) / 64 * 64),
      count_(std::max<size_t>(1, (least + stride_ - 1) / stride_)),
      memory_(stride_ * count_) {}

void Copies::spread() {
  for (size_t i = 1; i < count_; ++i) std::memcpy(first() + i * stride_, first(), stride_);
}

const std::byte* Copies::next() {
  at_ = at_ + 1 == count_ ? 0 : at_ + 1;
  return first() + at_ * stride_;
}

}  // namespace tw::measure
