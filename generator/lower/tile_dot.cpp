// Technique `tile`: a tile of activations times one of weights goes to a tile of accumulators. The
// table says what shapes these have; memory says how far apart their rows are. Tiles are stored to
// memory of the kernel's own, from which vectors of sums are loaded for the outputs. Weights that
// end in the middle of a tile are copied there first: behind them a panel need not have as many
// bytes.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "lower/output.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

class TileDot : public Accumulation {
 public:
  explicit TileDot(const Variant& v)
      : product_(contract_of(v).code()),
        sums_(tile_file(*v.isa, product_, 0)),
        activations_(tile_file(*v.isa, product_, 1)),
        weights_(tile_file(*v.isa, product_, 2)),
        down_(ratio(v.tile.m, sums_.rows)),
        across_(ratio(v.tile.n * 4, sums_.bytes)) {}

  [[nodiscard]] int64_t group() const override { return activations_.bytes.fixed; }
  /// Values of k of the weights behind the last whole tile: as many, or none.
  [[nodiscard]] static int64_t rest(const Tile1& t) {
    const int64_t multiple = t.rhs.layout->k_multiple;
    return multiple < t.lhs.layout->k_multiple ? multiple : 0;
  }

  void prepare(const Tile1& t) override {
    lhs_row_ = t.b.constant(t.lhs.layout->order.kr);
    rhs_row_ = t.b.op(OpCode::length, {}, {.offset = t.rhs.layout->panel * 4});
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>&) override {
    std::vector<Value> tiles;
    for (int64_t i = 0; i < down_ * across_; ++i) {
      tiles.push_back(t.b.op(OpCode::tile_zero, {}, {},
                             fmt::format("tile_{}_{}", i / across_, i % across_),
                             Role::accumulator));
    }
    return tiles;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& tiles) override {
    const int64_t k = g * group();
    multiply(t, lhs, k, tiles, rhs_row_, [&](int64_t j) { return columns(t, rhs, j, k); });
  }

  /// The same of the last rest() values of k, at the cursors; zeros stand for those behind them.
  void step_rest(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                 Value memory, std::vector<Value>& tiles) const {
    const int64_t rows = rest(t) / t.rhs.layout->order.kr;
    const Value zero = t.b.op(OpCode::zero, {}, {}, "zero", Role::operand);
    for (int64_t j = 0; j < across_; ++j) {
      for (int64_t row = 0; row < rows; ++row) {
        Place from = columns(t, rhs, j, row * t.rhs.layout->order.kr);
        const Value codes =
            t.b.op(OpCode::load, {from.pointer}, {.offset = from.offset}, "codes", Role::operand);
        t.b.op(OpCode::store, {memory, codes}, {.offset = tile_bytes() * j + sums_.bytes * row});
      }
      for (int64_t row = rows; row < weights_.rows.fixed; ++row) {
        t.b.op(OpCode::store, {memory, zero}, {.offset = tile_bytes() * j + sums_.bytes * row});
      }
    }
    const Value row_bytes = t.b.op(OpCode::length, {}, {.offset = sums_.bytes});
    multiply(t, lhs, 0, tiles, row_bytes, [&](int64_t j) {
      return Place{memory, tile_bytes() * j};
    });
  }

  /// Of a row of outputs' sums.
  [[nodiscard]] int64_t row_bytes() const { return across_ * sums_.bytes.fixed; }

  /// Memory for the sums of tiles side by side (before there are any, for tiles of weights) ...
  Value make_room(const Tile1& t) const {
    const int64_t weights = rest(t) != 0 ? across_ * tile_bytes() : 0;
    return t.b.scratch(std::max(sums_.rows.fixed * row_bytes(), weights), false);
  }

  /// ... to which those of a block of rows go, row by row of the output.
  void store(const Tile1& t, const std::vector<Value>& tiles, int64_t block, Value to) const {
    const Value row = t.b.constant(row_bytes());
    for (int64_t j = 0; j < across_; ++j) {
      t.b.op(OpCode::tile_store, {to, row, tiles[static_cast<size_t>(block * across_ + j)]},
             {.offset = sums_.bytes * j});
    }
  }

 private:
  [[nodiscard]] int64_t tile_bytes() const { return weights_.rows.fixed * weights_.bytes.fixed; }

  /// Activations from value k on after the cursors; `columns`: where the weights of a tile are.
  template <typename Columns>
  void multiply(const Tile1& t, const std::vector<Value>& lhs, int64_t k, std::vector<Value>& tiles,
                Value row_bytes, const Columns& columns) const {
    std::vector<Value> a;
    for (int64_t i = 0; i < down_; ++i) {
      const Length at = code_offset(*t.lhs.layout, i * sums_.rows.fixed, k);
      a.push_back(load(t, activations_, {lhs.front(), at}, lhs_row_, fmt::format("a_{}", i)));
    }
    for (int64_t j = 0; j < across_; ++j) {
      const Value b = load(t, weights_, columns(j), row_bytes, fmt::format("b_{}", j));
      for (int64_t i = 0; i < down_; ++i) {
        Value& tile = tiles[static_cast<size_t>(i * across_ + j)];
        tile = t.b.op(product_, {tile, a[static_cast<size_t>(i)], b}, {},
                      fmt::format("tile_{}_{}", i, j), Role::accumulator);
      }
    }
  }

  static Value load(const Tile1& t, const RegisterFile& file, const Place& at, Value row,
                    const std::string& name) {
    return t.b.op(OpCode::tile_load, {at.pointer, row},
                  {.offset = at.offset, .bytes = file.bytes, .rows = file.rows}, name,
                  Role::operand);
  }

  /// Four bytes of each column of the `j`th tile from value k on.
  [[nodiscard]] Place columns(const Tile1& t, const std::vector<Value>& rhs, int64_t j,
                              int64_t k) const {
    const auto panels = static_cast<int64_t>(rhs.size());
    const int64_t in_panel = across_ / panels;
    return {rhs[static_cast<size_t>(j / in_panel)],
            code_offset(*t.rhs.layout, 0, k) + sums_.bytes * (j % in_panel)};
  }

  OpCode product_;
  const RegisterFile &sums_, &activations_, &weights_;
  int64_t down_, across_;                          ///< tiles of sums
  Value lhs_row_ = no_value, rhs_row_ = no_value;  ///< bytes from row to row of a tile
};

/// Over all of k: whole tiles, then what is left of the weights, if anything is.
std::vector<Value> multiply_tiles(const Tile1& t, TileDot& how, Value memory) {
  const int64_t rest = TileDot::rest(t);
  if (rest == 0) return multiply_all(t, how, {});
  const Value k = padded_k(t, *t.rhs.layout);
  const KState state = multiply_whole(t, how, {}, k);
  const Value left = t.b.op(OpCode::iand_imm, {k}, {.imm = rest});
  const Value times = t.b.op(OpCode::ishr, {left}, {.imm = std::countr_zero(uint64_t(rest))});
  return t.b.loop("k_half", times, state.carried, [&](std::vector<Value> tiles) {
    how.step_rest(t, state.lhs, state.rhs, memory, tiles);
    return tiles;
  });
}

}  // namespace

void lower_tile_products(const Tile1& t) {
  TileDot how(t.v);
  const Value sums = how.make_room(t);
  const std::vector<Value> tiles = multiply_tiles(t, how, sums);
  const Value row_bytes = t.b.constant(how.row_bytes());
  Value of_row = no_value, at = no_value;
  const auto sum_of = [&](int64_t, int64_t j, Value row, Value negated) {
    if (row != of_row) {
      of_row = row;
      at = t.b.op(OpCode::iadd, {sums, t.b.op(OpCode::imul, {row, row_bytes})}, {}, "row_sums",
                  Role::address);
    }
    const Value sum = t.b.op(OpCode::load, {at}, {.offset = t.b.isa().vector_bytes * j},
                             fmt::format("sum_{}", j), Role::accumulator);
    if (negated == no_value) return sum;
    return t.b.op(OpCode::sub, {sum, negated}, {.bits = 32}, "sum", Role::accumulator);
  };
  store_tile_sums(t, sum_of, [&](int64_t block) { how.store(t, tiles, block, sums); });
}

}  // namespace tw
