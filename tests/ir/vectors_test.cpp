// Every operation on vectors against values computed here, lane by lane, at several lengths.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "helpers.h"
#include "ir/meaning.h"

namespace tw::test {
namespace {

/// Lanes as wide integers, so that what wraps in the operation does not wrap here.
__extension__ typedef __int128 Wide;
using Lanes = std::vector<Wide>;

Lanes lanes_of(const Bytes& bytes, int bits, bool is_signed) {
  Lanes lanes;
  size_t n = static_cast<size_t>(bits) / 8;
  for (size_t at = 0; at + n <= bytes.size(); at += n) {
    Wide value = 0;
    for (size_t i = n; i-- > 0;) value = value * 256 + bytes[at + i];
    if (is_signed && bytes[at + n - 1] >= 128) value -= Wide{1} << bits;
    lanes.push_back(value);
  }
  return lanes;
}

Bytes bytes_from(const Lanes& lanes, int bits) {
  Bytes bytes;
  for (Wide lane : lanes) {
    for (int i = 0; i < bits; i += 8) bytes.push_back(static_cast<uint8_t>(lane >> i));
  }
  return bytes;
}

struct Shape {
  const Isa* isa;
  VectorLength vl;
  size_t bytes;
};

std::vector<Shape> shapes() {
  return {{&fixed16(), {}, 16},       {&fixed64(), {}, 64},      {&scalable(), {1, 1}, 16},
          {&scalable(), {2, 1}, 32},  {&scalable(), {4, 1}, 64}, {&scalable(), {16, 1}, 256},
          {&streaming(), {1, 2}, 32}, {&streaming(), {1, 4}, 64}};
}

struct Case {
  OpCode code;
  int bits;  ///< attribute
  int64_t imm;
  int args;
  int lane_bits;  ///< how `expected` wants its arguments and gives its result
  bool is_signed;
  std::function<Lanes(const Lanes& a, const Lanes& b, const Lanes& c)> expected;
};

/// The same for each lane.
Case each(OpCode code, int bits, int64_t imm, int args, bool is_signed,
          const std::function<Wide(Wide, Wide, Wide)>& f) {
  return {
      code, bits, imm, args, bits, is_signed, [f](const Lanes& a, const Lanes& b, const Lanes& c) {
        Lanes d;
        for (size_t i = 0; i < a.size(); ++i) {
          d.push_back(f(a[i], b.empty() ? 0 : b[i], c.empty() ? 0 : c[i]));
        }
        return d;
      }};
}

void add_integer_cases(std::vector<Case>& cases) {
  for (int bits : {8, 16, 32, 64}) {
    cases.push_back(
        each(OpCode::add, bits, 0, 2, true, [](Wide a, Wide b, Wide) { return a + b; }));
    cases.push_back(
        each(OpCode::sub, bits, 0, 2, true, [](Wide a, Wide b, Wide) { return a - b; }));
    cases.push_back(
        each(OpCode::mul, bits, 0, 2, true, [](Wide a, Wide b, Wide) { return a * b; }));
    cases.push_back(
        each(OpCode::mla, bits, 0, 3, true, [](Wide a, Wide b, Wide c) { return a + b * c; }));
    for (int64_t i : {0, 1, 4, bits - 1}) {
      Wide power = Wide{1} << i;
      Wide above = Wide{1} << (bits - i);  // of what a shift to the right leaves
      cases.push_back(
          each(OpCode::shl, bits, i, 1, false, [=](Wide a, Wide, Wide) { return a * power; }));
      cases.push_back(
          each(OpCode::shr, bits, i, 1, false, [=](Wide a, Wide, Wide) { return a / power; }));
      cases.push_back(each(OpCode::sar, bits, i, 1, true, [=](Wide a, Wide, Wide) {
        return (a - ((a % power) + power) % power) / power;  // the floor
      }));
      cases.push_back(each(OpCode::shl_insert, bits, i, 2, false,
                           [=](Wide a, Wide b, Wide) { return b * power + a % power; }));
      cases.push_back(each(OpCode::shr_insert, bits, i, 2, false,
                           [=](Wide a, Wide b, Wide) { return b / power + a / above * above; }));
    }
  }
  cases.push_back(
      {OpCode::and_, 0, 0, 2, 8, false, [](const Lanes& a, const Lanes& b, const Lanes&) {
         Lanes d;
         for (size_t i = 0; i < a.size(); ++i) d.push_back(a[i] & b[i]);
         return d;
       }});
  cases.push_back(
      {OpCode::or_, 0, 0, 2, 8, false, [](const Lanes& a, const Lanes& b, const Lanes&) {
         Lanes d;
         for (size_t i = 0; i < a.size(); ++i) d.push_back(a[i] + b[i] - (a[i] & b[i]));
         return d;
       }});
  cases.push_back(
      {OpCode::xor_, 0, 0, 2, 8, false, [](const Lanes& a, const Lanes& b, const Lanes&) {
         Lanes d;
         for (size_t i = 0; i < a.size(); ++i) d.push_back(a[i] + b[i] - 2 * (a[i] & b[i]));
         return d;
       }});
  cases.push_back({OpCode::copy, 0, 0, 1, 8, false,
                   [](const Lanes& a, const Lanes&, const Lanes&) { return a; }});
}

/// Four neighbouring bytes as one number's digits.
Wide digit(Wide lane, int i, bool is_signed) {
  Wide byte = (lane >> (8 * i)) & 255;
  return is_signed && byte > 127 ? byte - 256 : byte;
}

Lanes dots(const Lanes& a, const Lanes& b, const Lanes& c, bool b_signed, int lane) {
  Lanes d;
  for (size_t i = 0; i < a.size(); ++i) {
    Wide other = lane < 0 ? c[i] : c[i - i % 4 + static_cast<size_t>(lane)];
    Wide sum = a[i];
    for (int j = 0; j < 4; ++j) sum += digit(b[i], j, b_signed) * digit(other, j, true);
    d.push_back(sum);
  }
  return d;
}

/// Lanes of 64 bits hold a row of 8 codes; two rows a segment.
Lanes matrices(const Lanes& a, const Lanes& b, const Lanes& c) {
  Lanes d;
  for (size_t i = 0; i < a.size(); i += 2) {  // a 2x2 of i32 is two lanes of 64 bits
    for (size_t row = 0; row < 2; ++row) {
      Wide pair = 0;
      for (size_t column = 0; column < 2; ++column) {
        Wide sum = (a[i + row] >> (32 * column)) & 0xFFFFFFFF;
        for (int j = 0; j < 8; ++j)
          sum += digit(b[i + row], j, true) * digit(c[i + column], j, true);
        pair |= (sum & 0xFFFFFFFF) << (32 * column);
      }
      d.push_back(pair);
    }
  }
  return d;
}

void add_multiply_cases(std::vector<Case>& cases) {
  cases.push_back({OpCode::dot4_u8s8, 0, 0, 3, 32, true,
                   [](auto& a, auto& b, auto& c) { return dots(a, b, c, false, -1); }});
  cases.push_back({OpCode::dot4_s8s8, 0, 0, 3, 32, true,
                   [](auto& a, auto& b, auto& c) { return dots(a, b, c, true, -1); }});
  for (int lane = 0; lane < 4; ++lane) {
    cases.push_back({OpCode::dot4_s8s8_lane, 0, lane, 3, 32, true,
                     [=](auto& a, auto& b, auto& c) { return dots(a, b, c, true, lane); }});
  }
  cases.push_back({OpCode::mmla_s8s8, 0, 0, 3, 64, false, matrices});
  cases.push_back(each(OpCode::dot2_u8s8_sat, 0, 0, 2, true, [](Wide a, Wide b, Wide) {
    const Wide sum =
        digit(a, 0, false) * digit(b, 0, true) + digit(a, 1, false) * digit(b, 1, true);
    return std::clamp<Wide>(sum, -32768, 32767);
  }));
  cases.back().lane_bits = 16;
  cases.push_back(each(OpCode::dot2_s16, 0, 0, 2, true, [](Wide a, Wide b, Wide) {
    const Wide low = (((a & 65535) ^ 32768) - 32768) * (((b & 65535) ^ 32768) - 32768);
    return low + (a >> 16) * (b >> 16);
  }));
  cases.back().lane_bits = 32;
}

void add_lane_cases(std::vector<Case>& cases) {
  for (int bits : {8, 16, 32, 64}) {
    auto per = static_cast<size_t>(128 / bits);  // lanes of a segment
    for (bool high : {false, true}) {
      cases.push_back({high ? OpCode::zip_hi : OpCode::zip_lo, bits, 0, 2, bits, false,
                       [=](const Lanes& a, const Lanes& b, const Lanes&) {
                         Lanes d;
                         for (size_t i = 0; i < a.size(); ++i) {
                           size_t from = i / per * per + i % per / 2 + (high ? per / 2 : 0);
                           d.push_back(i % 2 == 0 ? a[from] : b[from]);
                         }
                         return d;
                       }});
      cases.push_back({high ? OpCode::uzp_odd : OpCode::uzp_even, bits, 0, 2, bits, false,
                       [=](Lanes a, const Lanes& b, const Lanes&) {
                         a.insert(a.end(), b.begin(), b.end());
                         Lanes d;
                         for (size_t i = high ? 1 : 0; i < a.size(); i += 2) d.push_back(a[i]);
                         return d;
                       }});
    }
    if (bits >= 32) {
      cases.push_back(
          {OpCode::blend, bits, 2, 2, bits, false, [](Lanes a, const Lanes& b, const Lanes&) {
             a[1] = b[1];
             return a;
           }});
    }
    cases.push_back(
        {OpCode::pair_add, bits, 0, 2, bits, true, [](Lanes a, const Lanes& b, const Lanes&) {
           a.insert(a.end(), b.begin(), b.end());
           Lanes d;
           for (size_t i = 0; i < a.size(); i += 2) d.push_back(a[i] + a[i + 1]);
           return d;
         }});
  }
  for (int bits : {8, 16, 32, 64, 128}) {
    int64_t lane = 128 / bits - 1;
    cases.push_back({OpCode::dup_lane, bits, lane, 1, 8, false,
                     [=](const Lanes& a, const Lanes&, const Lanes&) {
                       Lanes d;
                       auto n = static_cast<size_t>(bits) / 8;
                       for (size_t i = 0; i < a.size(); ++i) d.push_back(a[16 - n + i % n]);
                       return d;
                     }});
  }
}

TEST(Vectors, IntegersMatch) {
  std::vector<Case> cases;
  add_integer_cases(cases);
  add_multiply_cases(cases);
  add_lane_cases(cases);
  unsigned seed = 1;
  for (const Case& c : cases) {
    for (const Shape& shape : shapes()) {
      Bytes input = random_bytes(3 * shape.bytes, seed++);
      // Extremes first: all ones, and the sign bits alone.
      for (size_t i = 0; i < 4; ++i) input[i] = 0xFF;
      for (size_t i = 0; i < 8; ++i) input[shape.bytes + i] = 0x80;
      Lanes args[3];
      for (size_t i = 0; i < static_cast<size_t>(c.args); ++i) {
        auto first = input.begin() + static_cast<std::ptrdiff_t>(i * shape.bytes);
        Bytes part(first, first + static_cast<std::ptrdiff_t>(shape.bytes));
        args[i] = lanes_of(part, c.lane_bits, c.is_signed);
      }
      Bytes expected = bytes_from(c.expected(args[0], args[1], args[2]), c.lane_bits);
      Bytes got = run_vector(*shape.isa, c.code, {.bits = c.bits, .imm = c.imm}, c.args, input,
                             shape.bytes, shape.vl);
      EXPECT_EQ(got, expected) << info(c.code).name << '.' << c.bits << " #" << c.imm << " with "
                               << shape.bytes << " bytes";
    }
  }
}

TEST(Vectors, MakingThem) {
  for (const Shape& shape : shapes()) {
    EXPECT_EQ(run_vector(*shape.isa, OpCode::zero, {}, 0, {}, shape.bytes, shape.vl),
              Bytes(shape.bytes));
    EXPECT_EQ(run_vector(*shape.isa, OpCode::splat, {.bits = 8, .imm = -16}, 0, {}, shape.bytes,
                         shape.vl),
              Bytes(shape.bytes, 0xF0));
    EXPECT_EQ(as<int32_t>(run_vector(*shape.isa, OpCode::splat, {.bits = 32, .imm = -7}, 0, {},
                                     shape.bytes, shape.vl)),
              std::vector<int32_t>(shape.bytes / 4, -7));
    Bytes dup = run_written(
        *shape.isa, {}, shape.bytes,
        [](Builder& b, Value, Value to) {
          Value x = b.constant(0x123456789);
          b.op(OpCode::store, {to, b.op(OpCode::dup, {x}, {.bits = 16})});
        },
        shape.vl);
    EXPECT_EQ(as<uint16_t>(dup), std::vector<uint16_t>(shape.bytes / 2, 0x6789));
  }
}

TEST(Vectors, MoveSegments) {
  Bytes input(128);
  for (size_t i = 0; i < 128; ++i) input[i] = static_cast<uint8_t>(i / 16);
  // From a: segments 3, 2; from b: 1, 0.
  Bytes got = run_vector(fixed64(), OpCode::move_segments, {.imm = 3 | 2 << 2 | 1 << 4 | 0 << 6}, 2,
                         input, 64);
  for (size_t i = 0; i < 64; ++i) EXPECT_EQ(got[i], (std::vector<int>{3, 2, 5, 4})[i / 16]);
  // Two segments, a bit each: segment 1 of a, segment 0 of b.
  input.resize(64);
  got = run_vector(isa_of(32), OpCode::move_segments, {.imm = 1}, 2, input, 32);
  for (size_t i = 0; i < 32; ++i) EXPECT_EQ(got[i], (std::vector<int>{1, 2})[i / 16]);
}

TEST(Vectors, Segment) {
  Bytes input = random_bytes(64, 7);
  Bytes got = run_vector(fixed64(), OpCode::segment, {.imm = 2}, 1, input, 16);
  EXPECT_EQ(got, Bytes(input.begin() + 32, input.begin() + 48));
}

TEST(Vectors, Nibbles) {
  Bytes input;
  Bytes codes;  // one after the other, low nibbles first
  for (int i = 0; i < 16; ++i) {
    const int low = i;
    const int high = 15 - i / 2;
    input.push_back(static_cast<uint8_t>(high << 4 | low));
    for (const int nibble : {low, high}) {
      codes.push_back(static_cast<uint8_t>(nibble < 8 ? nibble : nibble - 16));
    }
  }
  EXPECT_EQ(run_vector(isa_of(16), OpCode::nibbles, {.imm = 0}, 1, input, 16),
            Bytes(codes.begin(), codes.begin() + 16));
  EXPECT_EQ(run_vector(isa_of(16), OpCode::nibbles, {.imm = 1}, 1, input, 16),
            Bytes(codes.begin() + 16, codes.end()));
}

// The identity leaves bytes as they are; others move bits, drop them, or put the parity of several
// in place of one. Each 8 bytes have a matrix of their own.
TEST(Vectors, BitMatrix) {
  const auto times = [](uint64_t bytes, uint64_t matrix) {
    const std::vector<uint64_t> both = {bytes, bytes, 0x0102040810204080, matrix};
    const Bytes got = run_vector(fixed16(), OpCode::bit_matrix, {}, 2, bytes_of(both), 16);
    EXPECT_EQ(as<uint64_t>(got)[0], bytes);
    return as<uint64_t>(got)[1];
  };
  constexpr uint64_t bytes = 0xf1e2d3c4b5a69780;
  EXPECT_EQ(times(bytes, 0x1020408000000000), 0x0f0e0d0c0b0a0908U);  // bits 4 to 7, moved down
  EXPECT_EQ(times(bytes, 0x0408000000000000), 0x0000000101010100U);  // bits 2 and 3
  EXPECT_EQ(times(bytes, 0xff00000000000000), 0x0100010101000101U);  // the parity of all
}

TEST(Vectors, Permute64) {
  std::vector<uint64_t> lanes = {10, 11, 12, 13, 14, 15, 16, 17};
  Bytes got = run_vector(fixed64(), OpCode::permute_64, {.imm = 3 | 1 << 2 | 1 << 4 | 0 << 6}, 1,
                         bytes_of(lanes), 64);
  EXPECT_EQ(as<uint64_t>(got), (std::vector<uint64_t>{13, 11, 11, 10, 17, 15, 15, 14}));
}

TEST(Vectors, NarrowPair) {
  // Two segments each: 1 2 3 4 | 5 6 7 8, and 9 ... with what does not fit.
  std::vector<int32_t> wide = {1, 2, 3, 4, 5, 6, 7, 8, -9, 10, 11, 12, 13, 100000, -99999, -32768};
  Bytes got = run_vector(isa_of(32), OpCode::narrow_pair, {.bits = 32}, 2, bytes_of(wide), 32);
  EXPECT_EQ(as<int16_t>(got), (std::vector<int16_t>{1, 2, 3, 4, -9, 10, 11, 12, 5, 6, 7, 8, 13,
                                                    32767, -32768, -32768}));
  std::vector<int16_t> half = {1, -2, 300, 4, 5, 6, 7, -300, 9, 10, 11, 12, 13, 14, 15, -128};
  got = run_vector(fixed16(), OpCode::narrow_pair, {.bits = 16}, 2, bytes_of(half), 16);
  EXPECT_EQ(as<int8_t>(got),
            (std::vector<int8_t>{1, -2, 127, 4, 5, 6, 7, -128, 9, 10, 11, 12, 13, 14, 15, -128}));
}

TEST(Vectors, ProductsWithALaneAreAddedToWhatWrapsAround) {
  const std::vector<int32_t> all = {INT32_MAX, 1, 2, 3, 4, 5, 6, -7, 1, 2, 3, 4};
  EXPECT_EQ(as<int32_t>(run_vector(fixed16(), OpCode::mla_lane, {.imm = 3}, 3, bytes_of(all), 16)),
            (std::vector<int32_t>{INT32_MIN + 15, 21, 26, -25}));
}

TEST(Vectors, UpperHalves) {
  const std::vector<uint32_t> words = {0x00010002, 0xFFFEFFFF, 0x80000000, 0x3F80FFFF};
  EXPECT_EQ(as<uint16_t>(run_vector(fixed16(), OpCode::high_half, {}, 1, bytes_of(words), 8)),
            (std::vector<uint16_t>{0x0001, 0xFFFE, 0x8000, 0x3F80}));
}

}  // namespace
}  // namespace tw::test
