// Blocks of ggml's types, told byte by byte. Shares no code with the generator.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace tw::test {

/// Bits of a byte.
struct BitsAt {
  size_t byte;
  size_t shift;
};

struct GgmlType {
  const char* name;      ///< as packers' sources are called
  size_t values, bytes;  ///< of a block
  size_t span;           ///< values that share a scale
  int low_bits, top_bits;
  bool minimums;
  size_t d_at, m_at;  ///< bytes to the scale, or what scales are multiples of; likewise minimums
  BitsAt (*low)(size_t i);
  BitsAt (*top)(size_t i);  ///< null: there are none

  [[nodiscard]] bool steps() const { return values > 32; }
  [[nodiscard]] int bits() const { return low_bits + top_bits; }
  /// What code 0 of a kernel is stored as: of codes above minimums 8.
  [[nodiscard]] int middle() const { return low_bits == 8 ? 0 : minimums ? 8 : 1 << (bits() - 1); }
};

namespace ggml {

/// Of 32 nibbles from a byte on: values 16 apart share a byte.
template <size_t from>
BitsAt near_nibble(size_t i) {
  return {from + i % 16, i / 16 * 4};
}
/// Of 256 nibbles: values 32 apart do.
template <size_t from>
BitsAt far_nibble(size_t i) {
  return {from + i / 64 * 32 + i % 32, i / 32 % 2 * 4};
}
template <size_t from>
BitsAt near_bit(size_t i) {
  return {from + i / 8, i % 8};
}
inline BitsAt whole_byte(size_t i) {
  return {2 + i, 0};
}
inline BitsAt q5_k_top(size_t i) {
  return {16 + i % 32, i / 32};
}
inline BitsAt q6_k_low(size_t i) {
  return {i / 128 * 64 + i / 32 % 2 * 32 + i % 32, i / 64 % 2 * 4};
}
inline BitsAt q6_k_top(size_t i) {
  return {128 + i / 128 * 32 + i % 32, i / 32 % 4 * 2};
}

}  // namespace ggml

/// null: none of that name.
inline const GgmlType* find_ggml(const char* name) {
  using namespace ggml;
  static const GgmlType list[] = {
      {"q4_0", 32, 18, 32, 4, 0, false, 0, 0, near_nibble<2>, nullptr},
      {"q4_1", 32, 20, 32, 4, 0, true, 0, 2, near_nibble<4>, nullptr},
      {"q5_0", 32, 22, 32, 4, 1, false, 0, 0, near_nibble<6>, near_bit<2>},
      {"q5_1", 32, 24, 32, 4, 1, true, 0, 2, near_nibble<8>, near_bit<4>},
      {"q8_0", 32, 34, 32, 8, 0, false, 0, 0, whole_byte, nullptr},
      {"q4_k", 256, 144, 32, 4, 0, true, 0, 2, far_nibble<16>, nullptr},
      {"q5_k", 256, 176, 32, 4, 1, true, 0, 2, far_nibble<48>, q5_k_top},
      {"q6_k", 256, 210, 16, 4, 2, false, 208, 0, q6_k_low, q6_k_top},
  };
  for (const GgmlType& type : list) {
    if (std::strcmp(type.name, name) == 0) return &type;
  }
  return nullptr;
}

/// One block in memory. Numbers: what scales and minimums are in steps, 6 bits without a sign where
/// there are minimums, else a signed byte.
class GgmlBlock {
 public:
  GgmlBlock(const GgmlType& type, uint8_t* at) : type_(type), at_(at) {}

  /// Less middle(), of Q8_0 as it is.
  [[nodiscard]] int code(size_t i) const {
    if (type_.low_bits == 8) return static_cast<int8_t>(at_[type_.low(i).byte]);
    int stored = get(type_.low(i), type_.low_bits);
    if (type_.top != nullptr) stored |= get(type_.top(i), type_.top_bits) << type_.low_bits;
    return stored - type_.middle();
  }
  void set_code(size_t i, int code) {
    const int stored = code + type_.middle();
    put(type_.low(i), type_.low_bits, stored);
    if (type_.top != nullptr) put(type_.top(i), type_.top_bits, stored >> type_.low_bits);
  }

  [[nodiscard]] int scale(size_t part) const {
    if (!type_.minimums) return static_cast<int8_t>(at_[192 + part]);
    const uint8_t* six = at_ + 4;
    if (part < 4) return six[part] & 63;
    return (six[part + 4] & 15) | six[part - 4] >> 6 << 4;
  }
  [[nodiscard]] int minimum(size_t part) const {
    const uint8_t* six = at_ + 4;
    if (part < 4) return six[part + 4] & 63;
    return six[part + 4] >> 4 | six[part] >> 6 << 4;
  }
  void set_scale(size_t part, int number) {
    if (!type_.minimums) {
      at_[192 + part] = static_cast<uint8_t>(number);
    } else if (part < 4) {
      put({4 + part, 0}, 6, number);
    } else {
      put({8 + part, 0}, 4, number);
      put({part, 6}, 2, number >> 4);
    }
  }
  void set_minimum(size_t part, int number) {
    if (part < 4) {
      put({8 + part, 0}, 6, number);
    } else {
      put({8 + part, 4}, 4, number);
      put({4 + part, 6}, 2, number >> 4);
    }
  }

  [[nodiscard]] uint8_t* d_at() const { return at_ + type_.d_at; }
  [[nodiscard]] uint8_t* m_at() const { return at_ + type_.m_at; }

 private:
  [[nodiscard]] int get(BitsAt at, int bits) const {
    return at_[at.byte] >> at.shift & ((1 << bits) - 1);
  }
  void put(BitsAt at, int bits, int value) {
    const int mask = (1 << bits) - 1;
    const int others = at_[at.byte] & ~(mask << at.shift);
    at_[at.byte] = static_cast<uint8_t>(others | (value & mask) << at.shift);
  }

  const GgmlType& type_;
  uint8_t* at_;
};

}  // namespace tw::test
