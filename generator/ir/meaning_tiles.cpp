#include <fmt/format.h>

#include "ir/meaning_products.h"
#include "ir/text.h"

namespace tw {
namespace {

size_t row_bytes(const Storage& tile) {
  return tile.bytes / tile.rows;
}

void check_vector(size_t bytes, size_t row) {
  if (bytes == row) return;
  throw Fault(fmt::format("a vector of {} bytes, a tile's rows have {}", bytes, row));
}

/// The result as it is before anything is added.
uint8_t* start_tile(const Step& s, const Machine& m) {
  m.require(Mode::accumulator_tiles);
  std::memmove(s.to.at, s.arg[0].at, s.to.bytes);
  return s.to.at;
}

/// Calls f(element of the tile, row, column) on those whose flags are set.
template <typename T, typename F>
void add_outer(const Step& s, const Machine& m, F&& f) {
  uint8_t* tile = start_tile(s, m);
  check_vector(s.arg[1].bytes, 4 * s.to.rows);
  check_vector(s.arg[2].bytes, row_bytes(s.to));
  const size_t columns = row_bytes(s.to) / 4;
  for (size_t row = 0; row < s.to.rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      const size_t at = row * columns + column;
      put(tile, at, f(get<T>(tile, at), row, column));
    }
  }
}

template <typename T>
void add_outer_product(const Step& s, Machine& m) {
  constexpr size_t products = 4 / sizeof(T);
  add_outer<uint32_t>(s, m, [&](uint32_t sum, size_t row, size_t column) {
    for (size_t j = 0; j < products; ++j) {
      const size_t a = products * row + j;
      const size_t b = products * column + j;
      if (s.arg[3].at[a] == 0 || s.arg[4].at[b] == 0) continue;
      const int x = lane<T>(s, 1, a);
      const int y = lane<T>(s, 2, b);
      sum += static_cast<uint32_t>(x * y);
    }
    return sum;
  });
}

void add_outer_product_f32(const Step& s, Machine& m) {
  add_outer<float>(s, m, [&](float sum, size_t row, size_t column) {
    if (s.arg[3].at[row] == 0 || s.arg[4].at[column] == 0) return sum;
    return fused(lane<float>(s, 1, row), lane<float>(s, 2, column), sum);
  });
}

/// All bits of the halves of a pair that are active.
uint32_t active_halves(const Step& s, int predicate, size_t pair) {
  const uint8_t* flags = s.arg[predicate].at + 2 * pair;
  return (flags[0] != 0 ? 0xffffU : 0U) | (flags[1] != 0 ? 0xffff0000U : 0U);
}

/// A half that is not active is 0, unless none of its pair's products is.
template <typename F>
void add_outer_pairs(const Step& s, Machine& m, F&& dot) {
  add_outer<float>(s, m, [&](float sum, size_t row, size_t column) {
    const uint32_t rows = active_halves(s, 3, row);
    const uint32_t columns = active_halves(s, 4, column);
    if ((rows & columns) == 0) return sum;
    const uint32_t x = lane<uint32_t>(s, 1, row) & rows;
    return dot(sum, x, lane<uint32_t>(s, 2, column) & columns);
  });
}

void add_outer_product_bf16(const Step& s, Machine& m) {
  add_outer_pairs(s, m, dot2_to_odd);
}

void add_outer_product_f16(const Step& s, Machine& m) {
  add_outer_pairs(s, m, dot2_halves);
}

/// Columns of `y` are four bytes wide, and as many deep as rows of `x` have.
template <typename X, typename Y>
void add_tile_product(const Step& s, Machine& m) {
  const Storage& x = s.arg[1];
  const Storage& y = s.arg[2];
  uint8_t* tile = start_tile(s, m);
  const size_t columns = row_bytes(s.to) / 4;
  for (size_t at = 0; at < s.to.rows * columns; ++at) {
    auto sum = get<uint32_t>(tile, at);
    for (size_t k = 0; k < row_bytes(x); ++k) {
      const int a = get<X>(x.at, at / columns * row_bytes(x) + k);
      const int b = get<Y>(y.at, k / 4 * row_bytes(y) + at % columns * 4 + k % 4);
      sum += static_cast<uint32_t>(a * b);
    }
    put(tile, at, sum);
  }
}

void add_tile_product_bf16(const Step& s, Machine& m) {
  const Storage& x = s.arg[1];
  const Storage& y = s.arg[2];
  uint8_t* tile = start_tile(s, m);
  const size_t columns = row_bytes(s.to) / 4;
  const size_t pairs = row_bytes(x) / 4;
  for (size_t at = 0; at < s.to.rows * columns; ++at) {
    Halves sums;
    for (size_t k = 0; k < pairs; ++k) {
      add_products(sums, get<uint32_t>(x.at, at / columns * pairs + k),
                   get<uint32_t>(y.at, k * row_bytes(y) / 4 + at % columns));
    }
    put(tile, at, add_halves_flushed(get<float>(tile, at), sums));
  }
}

/// Where row `row` is in memory: b bytes below the one before.
uint64_t row_address(const Step& s, size_t row) {
  return scalar(s.arg[0]) + static_cast<uint64_t>(s.offset) + row * scalar(s.arg[1]);
}

void load_tile(const Step& s, Machine& m) {
  m.require(Mode::accumulator_tiles);
  const size_t bytes = row_bytes(s.to);
  for (size_t row = 0; row < s.to.rows; ++row) {
    m.memory.read(row_address(s, row), s.to.at + row * bytes, bytes);
  }
}

void store_tile(const Step& s, Machine& m) {
  m.require(Mode::accumulator_tiles);
  const Storage& tile = s.arg[2];
  const size_t bytes = row_bytes(tile);
  for (size_t row = 0; row < tile.rows; ++row) {
    m.memory.write(row_address(s, row), tile.at + row * bytes, bytes);
  }
}

void clear_tile(const Step& s, Machine& m) {
  m.require(Mode::accumulator_tiles);
  std::memset(s.to.at, 0, s.to.bytes);
}

/// Where the row that a scalar numbers begins.
uint8_t* numbered_row(const Step& s, const Storage& tile) {
  const uint64_t row = scalar(s.arg[1]);
  if (row >= tile.rows) {
    throw Fault(fmt::format("row {} of a tile with {} rows", row, tile.rows));
  }
  return tile.at + row * row_bytes(tile);
}

void tile_row(const Step& s, Machine& m) {
  m.require(Mode::accumulator_tiles);
  check_vector(s.to.bytes, row_bytes(s.arg[0]));
  std::memcpy(s.to.at, numbered_row(s, s.arg[0]), s.to.bytes);
}

void put_row(const Step& s, Machine& m) {
  start_tile(s, m);
  check_vector(s.arg[2].bytes, row_bytes(s.to));
  std::memcpy(numbered_row(s, s.to), s.arg[2].at, s.arg[2].bytes);
}

/// One vector of products for each of four rows, as far apart as they can be.
template <typename T>
void add_dots(const Step& s, Machine& m) {
  uint8_t* tile = start_tile(s, m);
  check_vector(s.arg[1].bytes, row_bytes(s.to));
  for (size_t i = 0; i < 4; ++i) {
    uint8_t* row = tile + i * (s.to.bytes / 4);
    dot_lanes<T, T>(row_bytes(s.to), row, s.arg[1 + i].at, s.arg[5].at, row,
                    lane_of_segment(s.imm));
  }
}

/// Where a row of the group of four that begins `down` rows below the scalar's is.
uint8_t* spread_row(const Step& s, const Storage& tile, int64_t down, int64_t quarter) {
  const uint64_t first = scalar(s.arg[1]);
  if (first % 4 != 0) throw Fault(fmt::format("{} is not 4 times a row", first));
  const uint64_t rows = tile.rows / 4;  // of a quarter
  const uint64_t row = (first / 4 + static_cast<uint64_t>(down)) % rows;
  return tile.at + (row + static_cast<uint64_t>(quarter) * rows) * row_bytes(tile);
}

void tile_quarter(const Step& s, Machine& m) {
  m.require(Mode::accumulator_tiles);
  check_vector(s.to.bytes, row_bytes(s.arg[0]));
  std::memcpy(s.to.at, spread_row(s, s.arg[0], s.imm / 4, s.imm % 4), s.to.bytes);
}

void add_products(const Step& s, Machine& m) {
  start_tile(s, m);
  check_vector(s.arg[2].bytes, row_bytes(s.to));
  for (int64_t i = 0; i < 4; ++i) {
    uint8_t* row = spread_row(s, s.to, s.imm, i);
    for (size_t j = 0; j < row_bytes(s.to) / 4; ++j) {
      put(row, j,
          fused(get<float>(s.arg[2 + i].at, j), get<float>(s.arg[6 + i].at, j),
                get<float>(row, j)));
    }
  }
}

void put_rows(const Step& s, Machine& m) {
  start_tile(s, m);
  check_vector(s.arg[2].bytes, row_bytes(s.to));
  for (int64_t i = 0; i < 4; ++i) {
    std::memcpy(spread_row(s, s.to, 0, i), s.arg[2 + i].at, row_bytes(s.to));
  }
}

/// `which` of a lane's two elements.
template <size_t which>
void add_halves(const Step& s, Machine& m) {
  start_tile(s, m);
  check_vector(s.arg[2].bytes, row_bytes(s.to));
  const auto half = [&](int64_t argument, size_t j) {
    return half_to_float(get<uint16_t>(s.arg[argument].at, 2 * j + which));
  };
  for (int64_t i = 0; i < 4; ++i) {
    uint8_t* row = spread_row(s, s.to, 0, i);
    for (size_t j = 0; j < row_bytes(s.to) / 4; ++j) {
      put(row, j, fused(half(2 + i, j), half(6, j), get<float>(row, j)));
    }
  }
}

void tile_row4(const Step& s, Machine& m) {
  m.require(Mode::accumulator_tiles);
  const Storage& tile = s.arg[0];
  check_vector(s.to.bytes, row_bytes(tile));
  const uint64_t four = scalar(s.arg[1]);
  if (four % 4 != 0) throw Fault(fmt::format("{} is not 4 times a row", four));
  std::memcpy(s.to.at, tile.at + four / 4 % tile.rows * row_bytes(tile), s.to.bytes);
}

/// Nothing that the mode holds survives its change: on the way in and out of streaming the
/// vectors and predicates are lost, tiles are lost on the way out.
void change_mode(const Step& s, Machine& m, bool enter) {
  const auto mode = static_cast<Mode>(s.imm);
  m.active[s.imm] = enter;
  if (mode == Mode::nibble_table) return;
  const bool vectors = mode == Mode::streaming;
  const size_t begin = vectors ? m.prepared.vectors_begin : m.prepared.tiles_begin;
  const size_t end = vectors ? m.prepared.tiles_begin : m.prepared.bytes.size();
  std::memset(m.prepared.bytes.data() + begin, 0xCD, end - begin);
}

void enter_mode(const Step& s, Machine& m) {
  change_mode(s, m, true);
}

void leave_mode(const Step& s, Machine& m) {
  change_mode(s, m, false);
}

}  // namespace

void Machine::require(Mode mode) const {
  if (!active[static_cast<size_t>(mode)]) throw Fault(fmt::format("needs mode {}", name(mode)));
}

void add_tile_meanings(MeaningTable& table) {
#include "model/operations_tiles.h"
}

}  // namespace tw
