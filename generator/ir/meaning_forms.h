// The forms in which rows of the operation list say what an operation means, one macro each. What
// they are given sees the Step as `s`, its immediate or offset as `i`, its arguments as a, b and c.
#pragma once

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <type_traits>

#include "ir/meaning.h"
#include "ir/typing.h"

namespace tw {

#define OP(name, ...) +1
constexpr size_t operation_count = 0
#include "model/operations.h"
    ;
#undef OP

using MeaningTable = std::array<Meaning, operation_count>;
void add_scalar_meanings(MeaningTable& table);
void add_memory_meanings(MeaningTable& table);
void add_integer_meanings(MeaningTable& table);
void add_float_meanings(MeaningTable& table);
void add_move_meanings(MeaningTable& table);
void add_tile_meanings(MeaningTable& table);

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

inline uint64_t scalar_argument(const Step& s, int index) {
  return index < s.arg_count ? scalar(s.arg[index]) : 0;
}

inline uint64_t number(const Step& s) {
  return static_cast<uint64_t>(s.imm + s.offset);  // no operation has both
}

/// Bytes of an element.
inline size_t element(const Step& s) {
  return static_cast<size_t>(s.bits) / 8;
}

template <typename T>
T lane(const Step& s, int argument, size_t index) {
  return argument < s.arg_count ? get<T>(s.arg[argument].at, index) : T{};
}

/// Calls f(T{}) with the unsigned type of `bits` bits; zero: of bytes.
template <typename F>
void with_lane(int bits, F&& f) {
  switch (bits) {
    case 16:
      return f(uint16_t{});
    case 32:
      return f(uint32_t{});
    case 64:
      return f(uint64_t{});
    default:
      return f(uint8_t{});
  }
}

/// f on integer lanes; arguments and result are 64 bits wide, of which the low ones count.
template <typename F>
void integer_lanes(const Step& s, uint8_t* to, F&& f) {
  with_lane(s.bits, [&](auto zero) {
    using T = decltype(zero);
    for (size_t j = 0; j < s.to.bytes / sizeof(T); ++j) {
      put(to, j, static_cast<T>(f(lane<T>(s, 0, j), lane<T>(s, 1, j), lane<T>(s, 2, j))));
    }
  });
}

template <typename F>
void float_lanes(const Step& s, uint8_t* to, F&& f) {
  for (size_t j = 0; j < s.to.bytes / 4; ++j) {
    put<float>(to, j, f(lane<float>(s, 0, j), lane<float>(s, 1, j), lane<float>(s, 2, j)));
  }
}

template <typename From, typename F>
void convert_lanes(const Step& s, uint8_t* to, F&& f) {
  for (size_t j = 0; j < s.arg[0].bytes / sizeof(From); ++j) put(to, j, f(lane<From>(s, 0, j)));
}

template <typename T, typename F>
T saturate(F value) {
  return static_cast<T>(
      std::clamp<F>(value, std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
}

inline uint64_t ones(int bits) {
  return ~uint64_t{0} >> (64 - bits);
}

}  // namespace tw

// A number made of numbers.
#define SCALAR(...)                                            \
  [](const Step& s, Machine&) {                                \
    [[maybe_unused]] const uint64_t a = scalar_argument(s, 0); \
    [[maybe_unused]] const uint64_t b = scalar_argument(s, 1); \
    [[maybe_unused]] const uint64_t c = scalar_argument(s, 2); \
    [[maybe_unused]] const uint64_t i = number(s);             \
    set_scalar(s.to, __VA_ARGS__);                             \
  }

// Flags, each of the number of its lane.
#define FLAGS(...)                                             \
  [](const Step& s, Machine&) {                                \
    [[maybe_unused]] const uint64_t a = scalar_argument(s, 0); \
    for (size_t lane = 0; lane < s.to.bytes; ++lane) {         \
      s.to.at[lane] = (__VA_ARGS__) ? 1 : 0;                   \
    }                                                          \
  }

// A statement that writes `to`, which overlaps no argument.
#define VECTOR(...)                       \
  [](const Step& s, Machine&) {           \
    uint8_t to[longest_vector];           \
    __VA_ARGS__;                          \
    std::memcpy(s.to.at, to, s.to.bytes); \
  }

// One lane of those of the arguments: integers as wide as the lanes, floats, or `x` of one type.
#define EACH(...)                                                                    \
  VECTOR([[maybe_unused]] const uint64_t i = number(s);                              \
         integer_lanes(s, to,                                                        \
                       [&]([[maybe_unused]] uint64_t a, [[maybe_unused]] uint64_t b, \
                           [[maybe_unused]] uint64_t c) -> uint64_t { return __VA_ARGS__; }))
#define FLOATS(...) \
  VECTOR(float_lanes(s, to, [](float a, float b, [[maybe_unused]] float c) { return __VA_ARGS__; }))
#define CONVERT(from, ...) VECTOR(convert_lanes<from>(s, to, [](from x) { return __VA_ARGS__; }))

// What a file of rows says, into the table.
#define OP(name, operands, attributes, meaning, ...) \
  table[static_cast<size_t>(OpCode::name)] = meaning;
