#include "integrations/ggml/grids.h"

#include <algorithm>
#include <cstring>
#include <type_traits>
#include <unordered_map>
#include <utility>
#include <vector>

#include "integrations/ggml/grid_types.h"

namespace tw::ggml {

namespace {

/// Rows as codes, a byte each, the first one lowest: where signs are 0, and where they are 1.
struct Grid {
  std::vector<uint64_t> rows[2];
  std::unordered_map<uint64_t, uint16_t> numbers[2];
};

/// No number has more than 16 bits, nor lies in more than 4 bytes: blocks have that many behind
/// them.
constexpr size_t kBehind = 4;

unsigned get(const uint8_t* block, Bits bits) {
  uint32_t word;
  std::memcpy(&word, block + bits.first / 8, sizeof word);
  return word >> bits.first % 8 & ((1U << bits.count) - 1);
}

void put(uint8_t* block, Bits bits, unsigned value) {
  uint32_t word;
  std::memcpy(&word, block + bits.first / 8, sizeof word);
  const uint32_t mask = ((1U << bits.count) - 1) << bits.first % 8;
  word = (word & ~mask) | (value << bits.first % 8 & mask);
  std::memcpy(block + bits.first / 8, &word, sizeof word);
}

unsigned get(const uint8_t* block, const Number& number) {
  const unsigned low = get(block, number.low);
  return number.top.count == 0 ? low : low | get(block, number.top) << number.low.count;
}

void put(uint8_t* block, const Number& number, unsigned value) {
  put(block, number.low, value);
  if (number.top.count != 0) put(block, number.top, value >> number.low.count);
}

/// A block apart.
struct Values {
  unsigned d;
  uint8_t scales[kParts];
  uint8_t codes[kGridValues];
};

// ---- ggml's blocks ----

/// Eight bytes, the first one lowest.
constexpr uint64_t each(uint64_t byte) {
  return byte * 0x0101010101010101U;
}

uint64_t bytes_at(const uint8_t* at) {
  uint64_t bytes;
  std::memcpy(&bytes, at, sizeof bytes);
  return bytes;
}

void set_bytes(uint8_t* at, uint64_t bytes) {
  std::memcpy(at, &bytes, sizeof bytes);
}

/// Bit i of a byte as bit 0 of byte i.
uint64_t spread(unsigned bits) {
  const uint64_t copies = each(bits) & 0x8040201008040201U;
  return ((copies + each(0x7f)) | copies) >> 7 & each(1);
}

/// Bit 0 of byte i as bit i.
unsigned gathered(uint64_t bytes) {
  return static_cast<unsigned>((bytes & each(1)) * 0x0102040810204080U >> 56);
}

unsigned is_odd(unsigned bits) {
  bits ^= bits >> 4;
  return 0x6996U >> (bits & 15) & 1;
}

/// With numbers that the compiler knows, and so the places of bits: twice as fast.
template <class Body>
void for_groups(const Body& body) {
  const auto all = [&]<size_t... group>(std::index_sequence<group...>) {
    (body(std::integral_constant<size_t, group>{}), ...);
  };
  all(std::make_index_sequence<kGroups>{});
}

template <class Type>
uint64_t codes_of_group(const Grid& grid, const uint8_t* block, size_t group) {
  const unsigned signs = get(block, Type::sign(group));
  constexpr bool is_moved = Type::signs == Signs::moved;
  const std::vector<uint64_t>& rows = grid.rows[is_moved ? signs : 0];
  uint64_t codes = 0;
  constexpr size_t rows_of_group = kGroup / Type::row;
  for (size_t i = 0; i < rows_of_group; ++i) {
    codes |= rows[get(block, Type::index(group * rows_of_group + i))] << i * 32;
  }
  if (is_moved) return codes;
  const bool even = Type::signs == Signs::even;
  return codes | spread(even ? signs | is_odd(signs) << 7 : signs) << (Type::code_bits - 1);
}

template <class Type>
void read_block(const Grid& grid, const uint8_t* block, Values& values) {
  values.d = 0;
  for (size_t i = 0; i < 4; ++i) values.d |= get(block, Type::d(i)) << 4 * i;
  for (size_t i = 0; i < kParts; ++i) {
    values.scales[i] = static_cast<uint8_t>(get(block, Type::scale(i)));
  }
  for_groups([&](auto group) {
    set_bytes(&values.codes[group * kGroup], codes_of_group<Type>(grid, block, group));
  });
}

/// Codes that no row has, in memory that was never set, are taken for those of row 0.
template <class Type>
void put_group(const Grid& grid, uint64_t codes, uint8_t* block, size_t group) {
  constexpr bool is_moved = Type::signs == Signs::moved;
  const uint64_t negative = codes >> (Type::code_bits - 1) & each(1);
  const unsigned signs =
      is_moved ? unsigned{grid.numbers[1].count(codes) != 0} : gathered(negative);
  put(block, Type::sign(group), signs);
  if (!is_moved) codes ^= negative << (Type::code_bits - 1);
  const auto& numbers = grid.numbers[is_moved ? signs : 0];
  constexpr size_t rows_of_group = kGroup / Type::row;
  for (size_t i = 0; i < rows_of_group; ++i) {
    const uint64_t row = rows_of_group == 1 ? codes : codes >> i * 32 & 0xffffffffU;
    const auto found = numbers.find(row);
    put(block, Type::index(group * rows_of_group + i), found != numbers.end() ? found->second : 0U);
  }
}

template <class Type>
void write_block(const Grid& grid, const Values& values, uint8_t* block) {
  for (size_t i = 0; i < 4; ++i) put(block, Type::d(i), values.d >> 4 * i);
  for (size_t i = 0; i < kParts; ++i) put(block, Type::scale(i), values.scales[i]);
  for (size_t group = 0; group < kGroups; ++group) {
    put_group<Type>(grid, bytes_at(&values.codes[group * kGroup]), block, group);
  }
}

// ---- flat blocks: scales of 6 bits, 32 more than what they mean, in two pieces ----

/// As IQ4_XS has them: codes 16 apart share a byte.
struct Nibbles {
  static constexpr size_t bytes = 136;
  static constexpr Bits d = {0, 16};
  static constexpr Number scale(size_t part) {
    const size_t i = part / 2;
    return {{in_bytes(4) + 4 * i, 4}, {in_bytes(2) + 2 * i, 2}};
  }
  static void put_codes(const uint8_t* codes, uint8_t* flat) {
    for (size_t i = 0; i < 128; i += 8) {
      const uint8_t* first = codes + i / 16 * 32 + i % 16;
      set_bytes(flat + 8 + i, bytes_at(first) | bytes_at(first + 16) << 4);
    }
  }
  static void get_codes(const uint8_t* flat, uint8_t* codes) {
    for (size_t i = 0; i < 128; i += 8) {
      uint8_t* first = codes + i / 16 * 32 + i % 16;
      set_bytes(first, bytes_at(flat + 8 + i) & each(15));
      set_bytes(first + 16, bytes_at(flat + 8 + i) >> 4 & each(15));
    }
  }
};

/// As Q3_K has them: codes 32 apart share bytes, of which the upper bits are in a plane of their
/// own.
struct Planes {
  static constexpr size_t bytes = 110;
  static constexpr Bits d = {in_bytes(108), 16};
  static constexpr Number scale(size_t part) {
    return {{in_bytes(96 + part % 8) + part / 8 * 4, 4},
            {in_bytes(104 + part % 4) + part / 4 * 2, 2}};
  }
  static void put_codes(const uint8_t* codes, uint8_t* flat) {
    for (size_t i = 0; i < 32; i += 8) {
      uint64_t tops = 0, low[2] = {};
      for (size_t j = 0; j < 8; ++j) {
        const uint64_t eight = bytes_at(codes + j * 32 + i);
        tops |= (eight >> 2 & each(1)) << j;
        low[j / 4] |= (eight & each(3)) << j % 4 * 2;
      }
      set_bytes(flat + i, tops);
      set_bytes(flat + 32 + i, low[0]);
      set_bytes(flat + 64 + i, low[1]);
    }
  }
  static void get_codes(const uint8_t* flat, uint8_t* codes) {
    for (size_t i = 0; i < 32; i += 8) {
      const uint64_t tops = bytes_at(flat + i);
      for (size_t j = 0; j < 8; ++j) {
        const uint64_t low = bytes_at(flat + 32 + j / 4 * 32 + i) >> j % 4 * 2 & each(3);
        set_bytes(codes + j * 32 + i, low | (tops >> j & each(1)) << 2);
      }
    }
  }
};
template <class Type>
using Flat = std::conditional_t<Type::code_bits == 4, Nibbles, Planes>;

constexpr unsigned kOffset = 32;

template <class Type>
void flatten_row(const Grid& grid, size_t k, const uint8_t* row, uint8_t* flat) {
  Values values;
  uint8_t block[Type::bytes + kBehind] = {}, made[Flat<Type>::bytes + kBehind] = {};
  for (size_t i = 0; i < k / kGridValues; ++i) {
    std::memcpy(block, row + i * Type::bytes, Type::bytes);
    read_block<Type>(grid, block, values);
    put(made, Flat<Type>::d, values.d);
    for (size_t part = 0; part < kParts; ++part) {
      put(made, Flat<Type>::scale(part), kOffset + 1 + 2U * values.scales[part]);
    }
    Flat<Type>::put_codes(values.codes, made);
    std::memcpy(flat + i * Flat<Type>::bytes, made, Flat<Type>::bytes);
  }
}

template <class Type>
void unflatten_row(const Grid& grid, size_t k, const uint8_t* flat, uint8_t* row) {
  Values values;
  uint8_t block[Type::bytes + kBehind] = {}, made[Flat<Type>::bytes + kBehind] = {};
  for (size_t i = 0; i < k / kGridValues; ++i) {
    std::memcpy(made, flat + i * Flat<Type>::bytes, Flat<Type>::bytes);
    values.d = get(made, Flat<Type>::d);
    for (size_t part = 0; part < kParts; ++part) {
      values.scales[part] =
          static_cast<uint8_t>((get(made, Flat<Type>::scale(part)) - kOffset) / 2);
    }
    Flat<Type>::get_codes(made, values.codes);
    write_block<Type>(grid, values, block);
    std::memcpy(row + i * Type::bytes, block, Type::bytes);
  }
}

// ---- the host's grids ----

/// f16 of a power of two.
constexpr unsigned half_of(int power) {
  unsigned bits = 0x3c00;
  for (; power > 1; power /= 2) bits += 0x400;
  return bits;
}

/// A block of rows of the grid from one on, whose values are the table's.
template <class Type>
std::vector<uint8_t> block_of_rows(size_t first) {
  std::vector<uint8_t> block(Type::bytes + kBehind);
  for (size_t i = 0; i < 4; ++i) put(block.data(), Type::d(i), half_of(Type::unit) >> 4 * i);
  for (size_t i = 0; i < kGridValues / Type::row; ++i) {
    put(block.data(), Type::index(i), static_cast<unsigned>(first + i));
  }
  return block;
}

/// A row's codes; false: it holds what we have no code for.
template <class Type>
bool add_row(Grid& grid, const float* values) {
  uint64_t codes[2] = {};
  for (size_t i = 0; i < Type::row; ++i) {
    const auto& held = Type::held.values;
    const auto* which = std::find_if(held.begin(), held.end(), [&](int value) {
      return static_cast<float>(value) == values[i];
    });
    if (which == held.end()) return false;
    for (const size_t sign : {0, 1}) {
      const uint64_t code = Type::held.codes[sign][static_cast<size_t>(which - held.begin())];
      codes[sign] |= code << 8 * i;
    }
  }
  for (const size_t sign : {0, 1}) {
    grid.numbers[sign].emplace(codes[sign], static_cast<uint16_t>(grid.rows[sign].size()));
    grid.rows[sign].push_back(codes[sign]);
  }
  return true;
}

template <class Type>
std::shared_ptr<const FlatForm> read_grid_of(ToFloats* to_floats) {
  const auto grid = std::make_shared<Grid>();
  for (size_t first = 0; first < Type::rows; first += kGridValues / Type::row) {
    float values[kGridValues];
    to_floats(block_of_rows<Type>(first).data(), values, kGridValues);
    for (size_t i = 0; i < kGridValues; i += Type::row) {
      if (!add_row<Type>(*grid, values + i)) return nullptr;
    }
  }
  return std::make_shared<FlatForm>(FlatForm{[grid](size_t k, const uint8_t* row, uint8_t* flat) {
                                               flatten_row<Type>(*grid, k, row, flat);
                                             },
                                             [grid](size_t k, const uint8_t* flat, uint8_t* row) {
                                               unflatten_row<Type>(*grid, k, flat, row);
                                             }});
}

template <class... Types>
std::shared_ptr<const FlatForm> read_any_grid(int32_t number, ToFloats* to_floats) {
  std::shared_ptr<const FlatForm> made;
  ((Types::number == number ? void(made = read_grid_of<Types>(to_floats)) : void()), ...);
  return made;
}

}  // namespace

std::shared_ptr<const FlatForm> read_grid(int32_t type, ToFloats* to_floats) {
  return read_any_grid<Iq3S, Iq3Xxs, Iq2Xxs, Iq2Xs, Iq2S, Iq1S, Iq1M>(type, to_floats);
}

}  // namespace tw::ggml
