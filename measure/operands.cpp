#include "measure/operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

namespace tw::measure {

namespace {

/// Random bits become a float between 1/128 and 1/8, of either sign.
void make_float(uint8_t* at, size_t bits, tw_type type) {
  const size_t mantissa = type == TW_F16 ? 10 : type == TW_BF16 ? 7 : 23;
  uint32_t value = 0;
  std::memcpy(&value, at, bits / 8);
  const uint32_t exponent = (type == TW_F16 ? 8U : 120U) + (value >> mantissa & 3U);
  const uint32_t kept = 1U << (bits - 1) | ((1U << mantissa) - 1);
  value = (value & kept) | exponent << mantissa;
  std::memcpy(at, &value, bits / 8);
}

float get_float(const uint8_t* at, tw_type type) {
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

}  // namespace

float Weights::value(size_t column, size_t depth) const {
  const uint8_t* at = &codes[column * stride() + depth * bits / 8];
  if (bits >= 16) return get_float(at, element);
  const float scale = scales[column * blocks() + (block == 0 ? 0 : depth / block)];
  const uint8_t byte = *at;
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
  w.bits = bits == 0 ? rhs.data_bits : bits;
  w.element = rhs.type;
  w.block = rhs.block;
  w.type = rhs.block_scales;
  w.codes.resize(n * w.stride());
  w.scales.resize(n * w.blocks());
  w.bias.resize(n);
  std::mt19937_64 random(1);
  for (size_t i = 0; i < w.codes.size(); i += sizeof(uint64_t)) {
    const uint64_t word = random();
    std::memcpy(&w.codes[i], &word, std::min(sizeof word, w.codes.size() - i));
  }
  if (w.bits >= 16) {
    w.scales.clear();
    for (size_t i = 0; i < n * k; ++i) make_float(&w.codes[i * w.bits / 8], w.bits, w.element);
  }
  std::uniform_real_distribution<float> scale(0.001F, 0.01F), bias(-1, 1);
  const float part = w.bits == 8 ? 1.0F / 16 : 1;  // the same range of weights
  for (float& s : w.scales) s = scale(random) * part;
  for (float& b : w.bias) b = bias(random);
  if (w.type == TW_SCALES_F16 || w.type == TW_SCALES_BF16) {
    // Powers of two: f16 has 10 bits behind them, bf16 7.
    for (float& s : w.scales) {
      int exponent = 0;
      std::frexp(s, &exponent);
      s = std::ldexp(1.0F, exponent - 1);
      const bool half = w.type == TW_SCALES_F16;
      w.half_scales.push_back(
          static_cast<uint16_t>(half ? (exponent - 1 + 15) << 10 : (exponent - 1 + 127) << 7));
    }
  }
  return w;
}

namespace {

void add_half(std::vector<uint8_t>& rows, uint32_t half) {
  rows.push_back(static_cast<uint8_t>(half));
  rows.push_back(static_cast<uint8_t>(half >> 8));
}

uint32_t eight_times(uint16_t half) {
  return half + (3U << 10);
}

/// The code, counted from the lowest one.
uint32_t code_at(const Weights& weights, size_t index) {
  return (static_cast<uint32_t>(weights.codes[index / 2]) >> (index % 2 * 4) & 15U) ^ 8U;
}

void add_pair(const Weights& weights, size_t low, size_t high, std::vector<uint8_t>& rows) {
  rows.push_back(static_cast<uint8_t>(code_at(weights, low) | code_at(weights, high) << 4));
}

}  // namespace

std::vector<uint8_t> q4_1_rows(const Weights& weights) {
  std::vector<uint8_t> rows;
  for (size_t i = 0; i < weights.half_scales.size(); ++i) {
    const uint16_t scale = weights.half_scales[i];
    add_half(rows, scale);
    add_half(rows, eight_times(scale) + 0x8000U);  // minus that
    for (size_t k = i * 32; k < i * 32 + 16; ++k) add_pair(weights, k, k + 16, rows);
  }
  return rows;
}

std::vector<uint8_t> q4_k_rows(const Weights& weights) {
  // Each scale and minimum is one step: 1 in the low bits of the first 8, then in either nibble.
  constexpr uint8_t ones[12] = {1, 1, 1, 1, 1, 1, 1, 1, 0x11, 0x11, 0x11, 0x11};
  std::vector<uint8_t> rows;
  for (size_t i = 0; i < weights.half_scales.size(); ++i) {
    add_half(rows, weights.half_scales[i]);
    add_half(rows, eight_times(weights.half_scales[i]));
    rows.insert(rows.end(), ones, ones + sizeof ones);
    for (size_t pair = 0; pair < 4; ++pair) {
      const size_t first = i * 256 + pair * 64;
      for (size_t k = first; k < first + 32; ++k) add_pair(weights, k, k + 32, rows);
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
