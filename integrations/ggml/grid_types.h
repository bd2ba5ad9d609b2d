// What blocks of ggml's grid types are made of, as bits: IQ3_S, IQ3_XXS, IQ2_XXS, IQ2_XS, IQ2_S,
// IQ1_S and IQ1_M have numbers of rows of a grid, signs, and scales, which mean twice that and one
// more.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "integrations/ggml/ggml_abi.h"

namespace tw::ggml {

inline constexpr size_t kGridValues = 256;  ///< of a block
inline constexpr size_t kPart = 16, kParts = kGridValues / kPart;
inline constexpr size_t kGroup = 8, kGroups = kGridValues / kGroup;

/// Bits of a block, the lowest of its first byte first. Numbers are in one piece or in two.
struct Bits {
  size_t first;
  unsigned count;
};
struct Number {
  Bits low, top = {0, 0};
};

constexpr size_t in_bytes(size_t count) {
  return 8 * count;
}

/// How a group's values are told to be negative.
enum class Signs {
  each,  ///< a bit of each
  even,  ///< of all but the last one, as an even number of them are
  moved  ///< one bit for all: values are an eighth less than the grid's, and else an eighth more
};

/// What the grid's rows hold where signs are 0, in units of the table of flat codes, and those
/// codes (docs/contracts.md): [sign][which].
template <size_t count>
struct Held {
  std::array<int, count> values;
  std::array<std::array<uint8_t, count>, 2> codes;
};

struct Iq3 {
  static constexpr size_t row = 4;          ///< values of one of the grid
  static constexpr unsigned code_bits = 4;  ///< flat blocks are as those of IQ4_XS
};
struct Iq2 {
  static constexpr size_t row = 8;
  static constexpr unsigned code_bits = 3;  ///< flat blocks are as those of Q3_K
  static constexpr int unit = 8;            ///< values times that are the table's
  static constexpr Held<3> held = {{8, 25, 43}, {{{0, 1, 2}, {4, 5, 6}}}};
};
/// -1, 0 and 1 and an eighth, which make 1, 7 and 9 eighths and the same negated.
struct Iq1 {
  static constexpr size_t row = 8, rows = 2048;
  static constexpr unsigned code_bits = 3;
  static constexpr int unit = 8;
  static constexpr Signs signs = Signs::moved;
  static constexpr Held<3> held = {{-7, 1, 9}, {{{5, 0, 2}, {6, 4, 1}}}};
};
constexpr std::array<std::array<uint8_t, 8>, 2> kNibbles = {
    {{0, 1, 2, 3, 4, 5, 6, 7}, {8, 9, 10, 11, 12, 13, 14, 15}}};

/// Of most: the first two bytes.
struct FirstHalf {
  static constexpr Bits d(size_t quarter) { return {4 * quarter, 4}; }
};

struct Iq3S : Iq3, FirstHalf {
  static constexpr int32_t number = type_iq3_s;
  static constexpr size_t bytes = 110, rows = 512;
  static constexpr int unit = 1;
  static constexpr Signs signs = Signs::each;
  static constexpr Held<8> held = {{1, 3, 5, 7, 9, 11, 13, 15}, kNibbles};
  static constexpr Number index(size_t i) { return {{in_bytes(2 + i), 8}, {in_bytes(66) + i, 1}}; }
  static constexpr Bits sign(size_t group) { return {in_bytes(74 + group), 8}; }
  static constexpr Bits scale(size_t part) { return {in_bytes(106) + part / 2 * 4, 4}; }
};

struct Iq3Xxs : Iq3, FirstHalf {
  static constexpr int32_t number = type_iq3_xxs;
  static constexpr size_t bytes = 98, rows = 256;
  static constexpr int unit = 4;
  static constexpr Signs signs = Signs::even;
  static constexpr Held<8> held = {{4, 12, 20, 28, 36, 44, 52, 62}, kNibbles};
  static constexpr Number index(size_t i) { return {{in_bytes(2 + i), 8}}; }
  static constexpr Bits sign(size_t group) {
    return {in_bytes(66 + group / 4 * 4) + group % 4 * 7, 7};
  }
  static constexpr Bits scale(size_t part) { return {in_bytes(66 + part / 2 * 4) + 28, 4}; }
};

struct Iq2Xxs : Iq2, FirstHalf {
  static constexpr int32_t number = type_iq2_xxs;
  static constexpr size_t bytes = 66, rows = 256;
  static constexpr Signs signs = Signs::even;
  static constexpr Number index(size_t i) { return {{in_bytes(2 + i / 4 * 8 + i % 4), 8}}; }
  static constexpr Bits sign(size_t group) {
    return {in_bytes(6 + group / 4 * 8) + group % 4 * 7, 7};
  }
  static constexpr Bits scale(size_t part) { return {in_bytes(6 + part / 2 * 8) + 28, 4}; }
};

struct Iq2Xs : Iq2, FirstHalf {
  static constexpr int32_t number = type_iq2_xs;
  static constexpr size_t bytes = 74, rows = 512;
  static constexpr Signs signs = Signs::even;
  static constexpr Number index(size_t i) { return {{in_bytes(2 + 2 * i), 9}}; }
  static constexpr Bits sign(size_t group) { return {in_bytes(2 + 2 * group) + 9, 7}; }
  static constexpr Bits scale(size_t part) { return {in_bytes(66) + 4 * part, 4}; }
};

struct Iq2S : Iq2, FirstHalf {
  static constexpr int32_t number = type_iq2_s;
  static constexpr size_t bytes = 82, rows = 1024;
  static constexpr Signs signs = Signs::each;
  static constexpr Number index(size_t i) {
    return {{in_bytes(2 + i), 8}, {in_bytes(66) + 2 * i, 2}};
  }
  static constexpr Bits sign(size_t group) { return {in_bytes(34 + group), 8}; }
  static constexpr Bits scale(size_t part) { return {in_bytes(74) + 4 * part, 4}; }
};

struct Iq1S : Iq1, FirstHalf {
  static constexpr int32_t number = type_iq1_s;
  static constexpr size_t bytes = 50;
  static constexpr Number index(size_t i) {
    return {{in_bytes(2 + i), 8}, {in_bytes(34 + i / 4 * 2) + i % 4 * 3, 3}};
  }
  static constexpr Bits sign(size_t group) { return {in_bytes(34 + group / 4 * 2) + 15, 1}; }
  static constexpr Bits scale(size_t part) { return {in_bytes(34 + part / 2 * 2) + 12, 3}; }
};

struct Iq1M : Iq1 {
  static constexpr int32_t number = type_iq1_m;
  static constexpr size_t bytes = 56;
  static constexpr Bits d(size_t quarter) { return {in_bytes(48 + 2 * quarter) + 12, 4}; }
  static constexpr Number index(size_t i) { return {{in_bytes(i), 8}, {in_bytes(32) + 4 * i, 3}}; }
  static constexpr Bits sign(size_t group) { return {in_bytes(32) + 4 * group + 3, 1}; }
  static constexpr Bits scale(size_t part) {
    return {in_bytes(48 + part / 4 * 2) + part % 4 * 3, 3};
  }
};

}  // namespace tw::ggml
