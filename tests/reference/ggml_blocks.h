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

/// Where whole numbers of blocks are, of their scales or minimums.
struct NumberPlaces {
  BitsAt (*low)(size_t part);  ///< null: there are none
  int low_bits;
  BitsAt (*top)(size_t part);  ///< of two bits more; null: there are none
  int offset;                  ///< stored is the number + offset; -1: signed bytes
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
  NumberPlaces scales = {}, minimums_at = {};
  const char* table = "";          ///< of what codes stand for (code_tables.h)
  const char* scale_type = "f16";  ///< of d, which each span has one of, unless there are steps
  /// Values are d * (stored - 1). Kernels have codes from -2 on: they take 1 - stored, and -d.
  bool negated = false;

  [[nodiscard]] bool steps() const { return scales.low != nullptr; }
  /// Of a block, one after the other.
  [[nodiscard]] size_t floats() const { return steps() ? 1 : values / span; }
  [[nodiscard]] int bits() const { return low_bits + top_bits; }
  /// What code 0 of a kernel is stored as: of codes above minimums the middle of the lower bits.
  [[nodiscard]] int middle() const {
    return low_bits == 8 ? 0 : 1 << ((minimums ? low_bits : bits()) - 1);
  }
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
/// Of 256 nibbles: blocks of 32, each as near_nibble() has them.
template <size_t from>
BitsAt block_nibble(size_t i) {
  return {from + i / 32 * 16 + i % 16, i / 16 % 2 * 4};
}
/// Of 256 codes of two bits: values 32 apart share a byte.
template <size_t from>
BitsAt quarter(size_t i) {
  return {from + i / 128 * 32 + i % 32, i / 32 % 4 * 2};
}
/// Of 64 such codes, values that follow each other do.
inline BitsAt next_quarter(size_t i) {
  return {2 + i / 4, i % 4 * 2};
}
/// Of 64 nibbles behind 4 bytes: values 8 apart do.
inline BitsAt nvfp4_nibble(size_t i) {
  return {4 + i / 16 * 8 + i % 8, i / 8 % 2 * 4};
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

inline BitsAt q3_k_top(size_t i) {
  return {i % 32, i / 32};
}

// Numbers of 6 bits of Q4_K and Q5_K: the last four have their upper bits beside the first four.
inline BitsAt q4_k_scale(size_t part) {
  return part < 4 ? BitsAt{4 + part, 0} : BitsAt{8 + part, 0};
}
inline BitsAt q4_k_scale_top(size_t part) {
  return part < 4 ? BitsAt{4 + part, 4} : BitsAt{part, 6};
}
inline BitsAt q4_k_minimum(size_t part) {
  return part < 4 ? BitsAt{8 + part, 0} : BitsAt{8 + part, 4};
}
inline BitsAt q4_k_minimum_top(size_t part) {
  return part < 4 ? BitsAt{8 + part, 4} : BitsAt{4 + part, 6};
}
inline BitsAt q6_k_scale(size_t part) {
  return {192 + part, 0};
}
inline BitsAt iq4_xs_scale(size_t part) {
  return {4 + part / 2, part % 2 * 4};
}
inline BitsAt iq4_xs_scale_top(size_t part) {
  return {2 + part / 4, part % 4 * 2};
}
inline BitsAt q2_k_scale(size_t part) {
  return {part, 0};
}
inline BitsAt q2_k_minimum(size_t part) {
  return {part, 4};
}
inline BitsAt q3_k_scale(size_t part) {
  return {96 + part % 8, part / 8 * 4};
}
inline BitsAt q3_k_scale_top(size_t part) {
  return {104 + part % 4, part / 4 * 2};
}

constexpr NumberPlaces six_bit_scales{q4_k_scale, 4, q4_k_scale_top, 0};
constexpr NumberPlaces six_bit_minimums{q4_k_minimum, 4, q4_k_minimum_top, 0};

}  // namespace ggml

/// Blocks like others, whose codes stand for values of another table.
inline GgmlType with_table(GgmlType type, const char* name, const char* table) {
  type.name = name;
  type.table = table;
  return type;
}

/// null: none of that name.
inline const GgmlType* find_ggml(const char* name) {
  using namespace ggml;
  static constexpr GgmlType q3_k{
      "q3_k", 256, 110, 16,          2,        1,
      false,  108, 0,   quarter<32>, q3_k_top, {q3_k_scale, 4, q3_k_scale_top, 32}};
  static constexpr GgmlType iq4_xs{"iq4_xs", 256,
                                   136,      32,
                                   4,        0,
                                   false,    0,
                                   0,        block_nibble<8>,
                                   nullptr,  {iq4_xs_scale, 4, iq4_xs_scale_top, 32},
                                   {},       "iq4"};
  static const GgmlType list[] = {
      {"q4_0", 32, 18, 32, 4, 0, false, 0, 0, near_nibble<2>, nullptr},
      {"q4_1", 32, 20, 32, 4, 0, true, 0, 2, near_nibble<4>, nullptr},
      {"q5_0", 32, 22, 32, 4, 1, false, 0, 0, near_nibble<6>, near_bit<2>},
      {"q5_1", 32, 24, 32, 4, 1, true, 0, 2, near_nibble<8>, near_bit<4>},
      {"q8_0", 32, 34, 32, 8, 0, false, 0, 0, whole_byte, nullptr},
      {"q4_k", 256, 144, 32, 4, 0, true, 0, 2, far_nibble<16>, nullptr, six_bit_scales,
       six_bit_minimums},
      {"q5_k", 256, 176, 32, 4, 1, true, 0, 2, far_nibble<48>, q5_k_top, six_bit_scales,
       six_bit_minimums},
      {"q6_k", 256, 210, 16, 4, 2, false, 208, 0, q6_k_low, q6_k_top, {q6_k_scale, 8, nullptr, -1}},
      {"q2_k",
       256,
       84,
       16,
       2,
       0,
       true,
       80,
       82,
       quarter<16>,
       nullptr,
       {q2_k_scale, 4, nullptr, 0},
       {q2_k_minimum, 4, nullptr, 0}},
      q3_k,
      with_table(q3_k, "iq2_flat", "iq2"),
      with_table(q3_k, "iq1_flat", "iq1"),
      {"iq4_nl", 32, 18, 32, 4, 0, false, 0, 0, near_nibble<2>, nullptr, {}, {}, "iq4"},
      iq4_xs,
      with_table(iq4_xs, "iq3_s_flat", "iq3s"),
      with_table(iq4_xs, "iq3_xxs_flat", "iq3x"),
      {"mxfp4", 32, 17, 32, 4, 0, false, 0, 0, near_nibble<1>, nullptr, {}, {}, "e2m1", "e8m0"},
      {"nvfp4", 64, 36, 16, 4, 0, false, 0, 0, nvfp4_nibble, nullptr, {}, {}, "nv4", "e5m3"},
      {"tq2_0", 256, 66, 256, 2, 0, false, 64, 0, quarter<0>, nullptr, {}, {}, "", "f16", true},
      {"q2_0", 64, 18, 64, 2, 0, false, 0, 0, next_quarter, nullptr, {}, {}, "", "f16", true},
      {"q1_0", 128, 18, 128, 1, 0, false, 0, 0, near_bit<2>, nullptr, {}, {}, "signs"},
  };
  for (const GgmlType& type : list) {
    if (std::strcmp(type.name, name) == 0) return &type;
  }
  return nullptr;
}

/// One block in memory.
class GgmlBlock {
 public:
  GgmlBlock(const GgmlType& type, uint8_t* at) : type_(type), at_(at) {}

  /// As kernels have it: less middle(), of Q8_0 as it is.
  [[nodiscard]] int code(size_t i) const {
    if (type_.low_bits == 8) return static_cast<int8_t>(at_[type_.low(i).byte]);
    int stored = get(type_.low(i), type_.low_bits);
    if (type_.top != nullptr) stored |= get(type_.top(i), type_.top_bits) << type_.low_bits;
    return type_.negated ? 1 - stored : stored - type_.middle();
  }
  void set_code(size_t i, int code) {
    const int stored = type_.negated ? 1 - code : code + type_.middle();
    put(type_.low(i), type_.low_bits, stored);
    if (type_.top != nullptr) put(type_.top(i), type_.top_bits, stored >> type_.low_bits);
  }

  [[nodiscard]] int scale(size_t part) const { return number(type_.scales, part); }
  [[nodiscard]] int minimum(size_t part) const { return number(type_.minimums_at, part); }
  void set_scale(size_t part, int number) { set_number(type_.scales, part, number); }
  void set_minimum(size_t part, int number) { set_number(type_.minimums_at, part, number); }

  [[nodiscard]] size_t d_bytes() const { return type_.scale_type[0] == 'e' ? 1 : 2; }
  /// The bits of a kernel's scale for those of d, and the other way round.
  [[nodiscard]] uint32_t kept_scale(uint32_t d) const { return type_.negated ? d ^ 0x8000 : d; }
  [[nodiscard]] uint8_t* d_at(size_t part = 0) const { return at_ + type_.d_at + part * d_bytes(); }
  [[nodiscard]] uint8_t* m_at() const { return at_ + type_.m_at; }

 private:
  [[nodiscard]] int number(const NumberPlaces& places, size_t part) const {
    int stored = get(places.low(part), places.low_bits);
    if (places.top != nullptr) stored |= get(places.top(part), 2) << places.low_bits;
    return places.offset < 0 ? static_cast<int8_t>(stored) : stored - places.offset;
  }
  void set_number(const NumberPlaces& places, size_t part, int number) {
    const int stored = places.offset < 0 ? number : number + places.offset;
    put(places.low(part), places.low_bits, stored);
    if (places.top != nullptr) put(places.top(part), 2, stored >> places.low_bits);
  }
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
