#include "random_rows.h"

#include <array>
#include <cmath>
#include <cstring>

#include "reference/half_reference.h"

namespace tw {
namespace {

constexpr size_t kBlock = 32;
constexpr size_t kScaleBytes = 2;
constexpr size_t kSuperBlock = 256, kSuperBlockBytes = 144;
constexpr size_t kBell = 4096;

size_t bytes_of_codes(StoredType type) {
  return type == StoredType::q8_0 ? kBlock : kBlock / 2;
}

/// A scale, and of Q4_1 a minimum behind it.
size_t bytes_before_codes(StoredType type) {
  return type == StoredType::q4_1 ? 2 * kScaleBytes : kScaleBytes;
}

/// Scales around the one that gives codes of `size_of_codes` the size `size`. As in files that ggml
/// quantized, half of them are negative; codes of Q4_0, from -8 to 7, so have no bias together.
using ScaleTable = std::array<uint16_t, 64>;
ScaleTable scale_table(float size_of_codes, float size) {
  ScaleTable table;
  for (size_t i = 0; i < table.size(); ++i) {
    const float spread = 0.75F + 0.5F * static_cast<float>(i / 2) / 31.0F;
    const float scale = size / size_of_codes * spread;
    table[i] = test::half_bits(i % 2 == 0 ? scale : -scale);
  }
  return table;
}

/// Minimums with which codes from 0 to 15 have no bias.
ScaleTable minimum_table(const ScaleTable& scales) {
  ScaleTable table;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = test::half_bits(-7.5F * test::half_value(scales[i]));
  }
  return table;
}

}  // namespace

size_t stored_bytes(StoredType type, size_t values) {
  if (type == StoredType::f32) return values * 4;
  if (type == StoredType::f16) return values * 2;
  if (type == StoredType::q4_k) return values / kSuperBlock * kSuperBlockBytes;
  return values / kBlock * (bytes_before_codes(type) + bytes_of_codes(type));
}

// Sums of twelve uniform values are as good as normal here, and the same with every library.
RandomRows::RandomRows(uint64_t seed) : state_(seed), bell_(kBell) {
  for (float& value : bell_) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(next() >> 11) * 0x1p-53;
    value = static_cast<float>(sum);
  }
}

/// splitmix64
uint64_t RandomRows::next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t mixed = state_;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

void RandomRows::fill(StoredType type, float size, std::vector<uint8_t>& values) {
  if (type == StoredType::q4_0) {
    fill_blocks(type, std::sqrt(21.5F), size, values);
  } else if (type == StoredType::q4_1) {
    fill_blocks(type, std::sqrt(21.25F), size, values);
  } else if (type == StoredType::q4_k) {
    fill_super_blocks(size, values);
  } else if (type == StoredType::q8_0) {
    fill_blocks(type, std::sqrt(127.0F * 128.0F / 3.0F), size, values);
  } else {
    fill_floats(type, size, values);
  }
}

void RandomRows::fill_blocks(StoredType type, float size_of_codes, float size,
                             std::vector<uint8_t>& values) {
  const auto scales = scale_table(size_of_codes, size);
  const auto minimums = minimum_table(scales);
  const size_t before = bytes_before_codes(type), codes = bytes_of_codes(type);
  for (size_t at = 0; at < values.size(); at += before + codes) {
    const size_t which = next() % scales.size();
    std::memcpy(&values[at], &scales[which], kScaleBytes);
    if (type == StoredType::q4_1) {
      std::memcpy(&values[at + kScaleBytes], &minimums[which], kScaleBytes);
    }
    for (size_t code = 0; code < codes; code += sizeof(uint64_t)) {
      const uint64_t bits = next();
      std::memcpy(&values[at + before + code], &bits, sizeof bits);
    }
    if (codes < kBlock) continue;
    for (size_t code = 0; code < codes; ++code) {  // Q8_0 has no -128
      uint8_t& byte = values[at + before + code];
      if (byte == 0x80) byte = 0;
    }
  }
}

/// Scales of 32 to 63 steps. A minimum is as many as its scale, each worth 7.5 of those, so that
/// codes have no bias.
void RandomRows::fill_super_blocks(float size, std::vector<uint8_t>& values) {
  const auto steps = scale_table(std::sqrt(21.25F) * 48, size);
  for (size_t at = 0; at < values.size(); at += kSuperBlockBytes) {
    const uint16_t step = steps[next() % steps.size()];
    const uint16_t minimum_step = test::half_bits(7.5F * test::half_value(step));
    std::memcpy(&values[at], &step, sizeof step);
    std::memcpy(&values[at + 2], &minimum_step, sizeof minimum_step);
    uint64_t numbers = next();
    for (size_t i = 0; i < 4; ++i, numbers >>= 10) {
      const uint64_t first = numbers & 31, last = numbers >> 5 & 15;
      // 6 bits of the first four blocks, whose top bits are the last four's: 2 of 3.
      values[at + 4 + i] = values[at + 8 + i] = static_cast<uint8_t>(32 + first + 128);
      values[at + 12 + i] = static_cast<uint8_t>(last * 17);
    }
    for (size_t code = 16; code < kSuperBlockBytes; code += sizeof(uint64_t)) {
      const uint64_t bits = next();
      std::memcpy(&values[at + code], &bits, sizeof bits);
    }
  }
}

void RandomRows::fill_floats(StoredType type, float size, std::vector<uint8_t>& values) {
  std::vector<float> floats(bell_);
  for (float& value : floats) value *= size;
  std::vector<uint16_t> halves;
  for (const float value : floats) halves.push_back(test::half_bits(value));
  const size_t bytes = type == StoredType::f32 ? 4 : 2;
  uint64_t bits = 0;
  for (size_t i = 0; i < values.size() / bytes; ++i, bits >>= 12) {
    if (i % 5 == 0) bits = next();
    const size_t which = bits % kBell;
    if (bytes == 4) {
      std::memcpy(&values[i * bytes], &floats[which], bytes);
    } else {
      std::memcpy(&values[i * bytes], &halves[which], bytes);
    }
  }
}

}  // namespace tw
