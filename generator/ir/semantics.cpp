#include "ir/semantics.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <stdexcept>
#include <type_traits>

#include "ir/interpreter.h"

namespace tw {
namespace {

template <typename T>
T get(const uint8_t* from, size_t index) {
  T value;
  std::memcpy(&value, from + index * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void put(uint8_t* to, size_t index, T value) {
  std::memcpy(to + index * sizeof(T), &value, sizeof(T));
}

/// Calls f(T{}) with the unsigned type of `bits` bits.
template <typename F>
void with_lane(int bits, F&& f) {
  switch (bits) {
    case 8:
      return f(uint8_t{});
    case 16:
      return f(uint16_t{});
    case 32:
      return f(uint32_t{});
    default:
      return f(uint64_t{});
  }
}

/// f on integer lanes; arguments and result are 64 bits wide, of which the low ones count.
template <typename F>
void integer_lanes(const VectorOperation& in, uint8_t* to, F&& f) {
  with_lane(in.bits, [&](auto zero) {
    using T = decltype(zero);
    for (size_t i = 0; i < in.bytes / sizeof(T); ++i) {
      uint64_t a = get<T>(in.arg[0], i);
      uint64_t b = in.arg[1] != nullptr ? get<T>(in.arg[1], i) : T{0};
      uint64_t c = in.arg[2] != nullptr ? get<T>(in.arg[2], i) : T{0};
      put(to, i, static_cast<T>(f(a, b, c)));
    }
  });
}

void shift_right_signed(const VectorOperation& in, uint8_t* to) {
  with_lane(in.bits, [&](auto zero) {
    using T = std::make_signed_t<decltype(zero)>;
    for (size_t i = 0; i < in.bytes / sizeof(T); ++i) {
      put(to, i, static_cast<T>(get<T>(in.arg[0], i) >> in.imm));
    }
  });
}

template <typename F>
void float_lanes(const VectorOperation& in, uint8_t* to, F&& f) {
  for (size_t i = 0; i < in.bytes / 4; ++i) {
    float b = in.arg[1] != nullptr ? get<float>(in.arg[1], i) : 0.0F;
    float c = in.arg[2] != nullptr ? get<float>(in.arg[2], i) : 0.0F;
    put<float>(to, i, f(get<float>(in.arg[0], i), b, c));
  }
}

int32_t to_integer(OpCode code, float x) {
  if (!(x >= -2147483648.0F && x < 2147483648.0F)) {
    throw Fault(fmt::format("{} of {}: out of range", info(code).name, x));
  }
  if (code == OpCode::cvt_f32_i32_away) return static_cast<int32_t>(std::lround(x));
  return static_cast<int32_t>(std::lrint(x));  // the default rounding: to nearest even
}

int8_t saturate(int32_t x) {
  return static_cast<int8_t>(std::clamp(x, -128, 127));
}

/// Sums of 4 products in each 32-bit lane; `c_lane` says which lane of c goes with a lane.
template <typename B, typename F>
void dot4(const VectorOperation& in, uint8_t* to, F&& c_lane) {
  for (size_t i = 0; i < in.bytes / 4; ++i) {
    uint32_t sum = get<uint32_t>(in.arg[0], i);
    for (size_t j = 0; j < 4; ++j) {
      int b = get<B>(in.arg[1], 4 * i + j);
      int c = get<int8_t>(in.arg[2], 4 * c_lane(i) + j);
      sum += static_cast<uint32_t>(b * c);
    }
    put(to, i, sum);
  }
}

/// Sums of 2 products of neighbours, put into lanes twice as wide.
template <typename A, typename B, typename F>
void dot2(const VectorOperation& in, uint8_t* to, F&& result) {
  for (size_t i = 0; i < in.bytes / (2 * sizeof(A)); ++i) {
    int64_t sum = 0;
    for (size_t j = 2 * i; j < 2 * i + 2; ++j) {
      sum += int64_t{get<A>(in.arg[0], j)} * get<B>(in.arg[1], j);
    }
    put(to, i, result(sum));
  }
}

void mmla(const VectorOperation& in, uint8_t* to) {
  for (size_t lane = 0; lane < in.bytes / 4; ++lane) {
    size_t segment = lane / 4;
    size_t row = lane % 4 / 2;
    size_t column = lane % 2;
    uint32_t sum = get<uint32_t>(in.arg[0], lane);
    for (size_t j = 0; j < 8; ++j) {
      int b = get<int8_t>(in.arg[1], 16 * segment + 8 * row + j);
      int c = get<int8_t>(in.arg[2], 16 * segment + 8 * column + j);
      sum += static_cast<uint32_t>(b * c);
    }
    put(to, lane, sum);
  }
}

/// Interleaves halves of segments; `half` 0: the low ones.
void zip(const VectorOperation& in, size_t half, uint8_t* to) {
  size_t element = static_cast<size_t>(in.bits) / 8;
  for (size_t segment = 0; segment < in.bytes; segment += 16) {
    for (size_t i = 0; i < 8 / element; ++i) {
      size_t from = segment + 8 * half + i * element;
      std::memcpy(to + segment + 2 * i * element, in.arg[0] + from, element);
      std::memcpy(to + segment + (2 * i + 1) * element, in.arg[1] + from, element);
    }
  }
}

void unzip(const VectorOperation& in, size_t first, uint8_t* to) {
  size_t element = static_cast<size_t>(in.bits) / 8;
  size_t half = in.bytes / element / 2;
  for (size_t i = 0; i < half; ++i) {
    std::memcpy(to + i * element, in.arg[0] + (2 * i + first) * element, element);
    std::memcpy(to + (half + i) * element, in.arg[1] + (2 * i + first) * element, element);
  }
}

/// Signed lanes of T to lanes of N, half as wide.
template <typename T, typename N>
void narrow_lanes(const VectorOperation& in, uint8_t* to) {
  const size_t lanes = 16 / sizeof(T);
  for (size_t i = 0; i < in.bytes / sizeof(N); ++i) {
    size_t segment = i / (2 * lanes);
    size_t within = i % (2 * lanes);
    T lane = get<T>(in.arg[within / lanes], segment * lanes + within % lanes);
    auto low = static_cast<T>(std::numeric_limits<N>::min());
    auto high = static_cast<T>(std::numeric_limits<N>::max());
    put(to, i, static_cast<N>(std::clamp(lane, low, high)));
  }
}

void narrow_pair(const VectorOperation& in, uint8_t* to) {
  if (in.bits == 32) return narrow_lanes<int32_t, int16_t>(in, to);
  narrow_lanes<int16_t, int8_t>(in, to);
}

void blend(const VectorOperation& in, uint8_t* to) {
  const size_t element = static_cast<size_t>(in.bits) / 8;
  for (size_t lane = 0; lane < in.bytes / element; ++lane) {
    const uint8_t* from = in.arg[in.imm >> lane & 1] + lane * element;
    std::memcpy(to + lane * element, from, element);
  }
}

void permute_64(const VectorOperation& in, uint8_t* to) {
  for (size_t lane = 0; lane < in.bytes / 8; ++lane) {
    size_t from = lane / 4 * 4 + (static_cast<size_t>(in.imm) >> (2 * (lane % 4)) & 3);
    std::memcpy(to + 8 * lane, in.arg[0] + 8 * from, 8);
  }
}

void pair_add(const VectorOperation& in, uint8_t* to) {
  with_lane(in.bits, [&](auto zero) {
    using T = decltype(zero);
    size_t half = in.bytes / sizeof(T) / 2;
    for (size_t i = 0; i < half; ++i) {
      for (size_t side = 0; side < 2; ++side) {
        uint64_t sum = uint64_t{get<T>(in.arg[side], 2 * i)} + get<T>(in.arg[side], 2 * i + 1);
        put(to, side * half + i, static_cast<T>(sum));
      }
    }
  });
}

/// Puts the element at `from` everywhere.
void everywhere(const VectorOperation& in, const uint8_t* from, uint8_t* to) {
  size_t element = static_cast<size_t>(in.bits) / 8;
  for (size_t at = 0; at + element <= in.bytes; at += element) std::memcpy(to + at, from, element);
}

void move_segments(const VectorOperation& in, uint8_t* to) {
  const size_t count = in.bytes / 16;
  const size_t bits = count / 2;  // that choose one of them
  for (size_t i = 0; i < count; ++i) {
    size_t from = (static_cast<size_t>(in.imm) >> (bits * i)) & (count - 1);
    std::memcpy(to + 16 * i, in.arg[i / bits] + 16 * from, 16);
  }
}

void integers(const VectorOperation& in, uint8_t* to) {
  const auto i = static_cast<uint64_t>(in.imm);
  const uint64_t ones = ~uint64_t{0} >> (64 - in.bits);
  switch (in.code) {
    case OpCode::add:
      return integer_lanes(in, to, [](auto a, auto b, auto) { return a + b; });
    case OpCode::sub:
      return integer_lanes(in, to, [](auto a, auto b, auto) { return a - b; });
    case OpCode::mul:
      return integer_lanes(in, to, [](auto a, auto b, auto) { return a * b; });
    case OpCode::mla:
      return integer_lanes(in, to, [](auto a, auto b, auto c) { return a + b * c; });
    case OpCode::shl:
      return integer_lanes(in, to, [i](auto a, auto, auto) { return a << i; });
    case OpCode::shr:
      return integer_lanes(in, to, [i](auto a, auto, auto) { return a >> i; });
    case OpCode::shl_insert:
      return integer_lanes(
          in, to, [i](auto a, auto b, auto) { return (b << i) | (a & ((uint64_t{1} << i) - 1)); });
    case OpCode::shr_insert:
      return integer_lanes(
          in, to, [i, ones](auto a, auto b, auto) { return (b >> i) | (a & ~(ones >> i)); });
    default:
      return shift_right_signed(in, to);
  }
}

void bitwise(const VectorOperation& in, uint8_t* to) {
  for (size_t i = 0; i < in.bytes; ++i) {
    uint8_t a = in.arg[0][i];
    uint8_t b = in.arg[1][i];
    int result = in.code == OpCode::and_ ? a & b : in.code == OpCode::or_ ? a | b : a ^ b;
    to[i] = static_cast<uint8_t>(result);
  }
}

/// The second factor is one element of each segment.
void fma_lane(const VectorOperation& in, uint8_t* to) {
  for (size_t i = 0; i < in.bytes / 4; ++i) {
    const size_t lane = i / 4 * 4 + static_cast<size_t>(in.imm);
    put(to, i,
        std::fma(get<float>(in.arg[0], i), get<float>(in.arg[1], lane), get<float>(in.arg[2], i)));
  }
}

void floats(const VectorOperation& in, uint8_t* to) {
  switch (in.code) {
    case OpCode::fadd:
      return float_lanes(in, to, [](float a, float b, float) { return a + b; });
    case OpCode::fsub:
      return float_lanes(in, to, [](float a, float b, float) { return a - b; });
    case OpCode::fmul:
      return float_lanes(in, to, [](float a, float b, float) { return a * b; });
    case OpCode::fma:
      return float_lanes(in, to, [](float a, float b, float c) { return std::fma(a, b, c); });
    case OpCode::fma_lane:
      return fma_lane(in, to);
    case OpCode::fmin:
      return float_lanes(in, to, [](float a, float b, float) { return a < b ? a : b; });
    default:
      return float_lanes(in, to, [](float a, float b, float) { return a > b ? a : b; });
  }
}

void convert(const VectorOperation& in, uint8_t* to) {
  const bool doubles = in.code == OpCode::cvt_f16_f32 || in.code == OpCode::cvt_bf16_f32;
  size_t lanes = in.arg_bytes / (doubles ? 2 : 4);
  for (size_t i = 0; i < lanes; ++i) {
    switch (in.code) {
      case OpCode::cvt_i32_f32:
        put(to, i, static_cast<float>(get<int32_t>(in.arg[0], i)));
        break;
      case OpCode::cvt_f32_i32:
      case OpCode::cvt_f32_i32_away:
        put(to, i, to_integer(in.code, get<float>(in.arg[0], i)));
        break;
      case OpCode::cvt_f16_f32:
        put(to, i, half_to_float(get<uint16_t>(in.arg[0], i)));
        break;
      case OpCode::cvt_bf16_f32:
        put(to, i, uint32_t{get<uint16_t>(in.arg[0], i)} << 16);
        break;
      default:
        put(to, i, saturate(get<int32_t>(in.arg[0], i)));
    }
  }
}

void nibbles(const VectorOperation& in, uint8_t* to) {
  for (size_t i = 0; i < in.bytes; ++i) {
    const size_t nibble = static_cast<size_t>(in.imm) * in.bytes + i;
    const int code = in.arg[0][nibble / 2] >> (nibble % 2 * 4) & 15;
    to[i] = static_cast<uint8_t>((code ^ 8) - 8);
  }
}

}  // namespace

float half_to_float(uint16_t half) {
  uint32_t sign = uint32_t{half} >> 15 << 31;
  uint32_t exponent = (half >> 10) & 31U;
  uint32_t fraction = half & 1023U;
  if (exponent == 0) {  // zero or subnormal: fraction * 2^-24, exact in f32
    float magnitude = std::ldexp(static_cast<float>(fraction), -24);
    return sign != 0 ? -magnitude : magnitude;
  }
  uint32_t wide = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | wide << 23 | fraction << 13);
}

uint64_t scalar_operation(OpCode code, int64_t number, uint64_t a, uint64_t b, uint64_t c) {
  auto n = static_cast<uint64_t>(number);
  switch (code) {
    case OpCode::constant:
    case OpCode::length:
      return n;
    case OpCode::iadd:
      return a + b;
    case OpCode::iadd_imm:
      return a + n;
    case OpCode::isub:
      return a - b;
    case OpCode::imul:
      return a * b;
    case OpCode::ishl:
      return a << n;
    case OpCode::ishr:
      return a >> n;
    case OpCode::iand_imm:
      return a & n;
    case OpCode::imin:
      return std::min(a, b);
    case OpCode::isub_sat:
      return a > b ? a - b : 0;
    case OpCode::idiv:
      if (b == 0) throw Fault("division by zero");
      return a / b;
    case OpCode::if_null:
      return a == 0 ? b : c;
    case OpCode::low_bits:
      if (b > 255) throw Fault(fmt::format("low_bits of {}: at most 255", b));
      return b >= 64 ? a : a & ((uint64_t{1} << b) - 1);
    case OpCode::icopy:
      return a;
    default:
      throw std::logic_error(fmt::format("{} is no operation on scalars", info(code).name));
  }
}

void vector_operation(const VectorOperation& in, uint8_t* to) {
  auto same_lane = [](size_t i) { return i; };
  switch (in.code) {
    case OpCode::zero:
      std::memset(to, 0, in.bytes);
      return;
    case OpCode::splat:
      return everywhere(in, reinterpret_cast<const uint8_t*>(&in.imm), to);
    case OpCode::dup:
      return everywhere(in, in.arg[0], to);
    case OpCode::dup_lane:
      return everywhere(in, in.arg[0] + in.imm * (in.bits / 8), to);
    case OpCode::copy:
      std::memcpy(to, in.arg[0], in.bytes);
      return;
    case OpCode::add:
    case OpCode::sub:
    case OpCode::mul:
    case OpCode::mla:
    case OpCode::shl:
    case OpCode::shr:
    case OpCode::sar:
    case OpCode::shl_insert:
    case OpCode::shr_insert:
      return integers(in, to);
    case OpCode::and_:
    case OpCode::or_:
    case OpCode::xor_:
      return bitwise(in, to);
    case OpCode::fadd:
    case OpCode::fsub:
    case OpCode::fmul:
    case OpCode::fma:
    case OpCode::fma_lane:
    case OpCode::fmin:
    case OpCode::fmax:
      return floats(in, to);
    case OpCode::cvt_i32_f32:
    case OpCode::cvt_f32_i32:
    case OpCode::cvt_f32_i32_away:
    case OpCode::cvt_f16_f32:
    case OpCode::cvt_bf16_f32:
    case OpCode::narrow_32_8:
      return convert(in, to);
    case OpCode::dot4_u8s8:
      return dot4<uint8_t>(in, to, same_lane);
    case OpCode::dot4_s8s8:
      return dot4<int8_t>(in, to, same_lane);
    case OpCode::dot4_s8s8_lane:
      return dot4<int8_t>(in, to,
                          [&](size_t i) { return i / 4 * 4 + static_cast<size_t>(in.imm); });
    case OpCode::mmla_s8s8:
      return mmla(in, to);
    case OpCode::dot2_u8s8_sat:
      return dot2<uint8_t, int8_t>(in, to, [](int64_t sum) {
        return static_cast<int16_t>(std::clamp<int64_t>(sum, INT16_MIN, INT16_MAX));
      });
    case OpCode::dot2_s16:
      return dot2<int16_t, int16_t>(in, to, [](int64_t sum) { return static_cast<int32_t>(sum); });
    case OpCode::zip_lo:
      return zip(in, 0, to);
    case OpCode::zip_hi:
      return zip(in, 1, to);
    case OpCode::uzp_even:
      return unzip(in, 0, to);
    case OpCode::uzp_odd:
      return unzip(in, 1, to);
    case OpCode::pair_add:
      return pair_add(in, to);
    case OpCode::move_segments:
      return move_segments(in, to);
    case OpCode::nibbles:
      return nibbles(in, to);
    case OpCode::segment:
      std::memcpy(to, in.arg[0] + in.imm * 16, 16);
      return;
    case OpCode::narrow_pair:
      return narrow_pair(in, to);
    case OpCode::blend:
      return blend(in, to);
    case OpCode::permute_64:
      return permute_64(in, to);
    default:
      throw std::logic_error(fmt::format("{} is no operation on vectors", info(in.code).name));
  }
}

void predicate_operation(OpCode code, size_t lanes, uint64_t scalar, uint8_t* to) {
  for (size_t i = 0; i < lanes; ++i) {
    bool bit = i < 64 && ((scalar >> i) & 1) != 0;
    bool active = code == OpCode::pred_all || (code == OpCode::pred_first ? i < scalar : bit);
    to[i] = active ? 1 : 0;
  }
}

void outer_product(int64_t svl, const uint8_t* b, const uint8_t* c, const uint8_t* b_active,
                   const uint8_t* c_active, uint8_t* tile) {
  auto side = static_cast<size_t>(4 * svl);
  for (size_t row = 0; row < side; ++row) {
    for (size_t column = 0; column < side; ++column) {
      uint32_t sum = get<uint32_t>(tile, row * side + column);
      for (size_t j = 0; j < 4; ++j) {
        if (b_active[4 * row + j] == 0 || c_active[4 * column + j] == 0) continue;
        int x = get<int8_t>(b, 4 * row + j);
        int y = get<int8_t>(c, 4 * column + j);
        sum += static_cast<uint32_t>(x * y);
      }
      put(tile, row * side + column, sum);
    }
  }
}

void outer_product_f32(int64_t svl, const uint8_t* b, const uint8_t* c, const uint8_t* b_active,
                       const uint8_t* c_active, uint8_t* tile) {
  auto side = static_cast<size_t>(4 * svl);
  for (size_t row = 0; row < side; ++row) {
    for (size_t column = 0; column < side; ++column) {
      if (b_active[row] == 0 || c_active[column] == 0) continue;
      const size_t at = row * side + column;
      put(tile, at, std::fma(get<float>(b, row), get<float>(c, column), get<float>(tile, at)));
    }
  }
}

}  // namespace tw
