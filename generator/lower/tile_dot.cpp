// Technique `tile`: a tile of activations times one of weights goes to a tile of accumulators. The
// table says what shapes these have; memory says how far apart their rows are. Tiles are stored to
// memory of the kernel's own, from which vectors of sums are loaded for the outputs. Weights that
// end in the middle of a tile are copied there first, before zeros: behind them a panel need not
// have as many bytes. So are those that share bytes, a group of k at a time, as bytes of their own.
// Where an iteration has two steps of k, one is copied while the one before it is multiplied: loads
// of tiles wait until what was stored there a moment ago has reached the cache.
#include <fmt/format.h>

#include <algorithm>

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
        across_(ratio(v.tile.n * 4, sums_.bytes)),
        tile_k_(activations_.bytes.fixed * 8 / bits(v.lhs.element)),
        decode_(v) {
    // A group for each piece of code that reads weights, so that what asks for others stands beside
    // it, line by line: a row of copies, or a product.
    const int64_t products = down_ * across_;
    if (shares_bytes()) {
      parts_ = tile_k_ / (v.rhs.order.kr * decode_.operands());
    } else if (tile_k_ % products == 0) {
      parts_ = products;
    }
  }

  [[nodiscard]] int64_t group() const override { return tile_k_ / parts_; }
  /// Values of k of a tile.
  [[nodiscard]] int64_t tile_k() const { return tile_k_; }
  /// Weights may end behind so many values of k of a tile; 0: they fill all.
  [[nodiscard]] static int64_t rest(const Tile1& t) {
    const int64_t multiple = t.rhs.layout->k_multiple;
    return multiple < t.lhs.layout->k_multiple ? multiple : 0;
  }

  /// `memory`: as made by make_room().
  void use(Value memory) { memory_ = memory; }

  void prepare(const Tile1& t) override {
    const int64_t lhs_row = activations_.bytes.fixed;
    lhs_row_ = t.b.constant(lhs_row);
    if (shares_bytes() || rest(t) != 0) {
      const int64_t row = weights_.bytes.fixed;
      copied_row_ = row == lhs_row ? lhs_row_ : t.b.constant(row);
    }
    decode_.prepare(t);
    if (shares_bytes()) return;
    rhs_row_ = t.b.op(OpCode::length, {}, {.offset = t.rhs.layout->panel * 4});
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>&) override {
    std::vector<Value> tiles;
    for (int64_t i = 0; i < down_ * across_; ++i) {
      tiles.push_back(t.b.op(OpCode::tile_zero, {}, {},
                             fmt::format("tile_{}_{}", i / across_, i % across_),
                             Role::accumulator));
    }
    if (copies_ahead(t)) copy_first(t);
    return tiles;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& tiles) override {
    const int64_t part = g % parts_;
    const int64_t k = g / parts_ * tile_k_;
    if (!shares_bytes()) {
      return multiply_part(t, lhs, k, part, tiles, rhs_row_,
                           [&](int64_t j) { return columns(t, rhs, j, k); });
    }
    if (!copies_ahead(t)) {
      copy_part(t, rhs, k, part, 0);
      if (part + 1 == parts_) multiply(t, lhs, k, tiles);
      return;
    }
    const int64_t place = g / parts_;
    if (part == 0) next_ = next_step(t, rhs, k + tile_k_);
    copy_part(t, next_, 0, part, 1 - place);
    multiply_part(t, lhs, k, part, tiles, copied_row_,
                  [&](int64_t j) { return copy_of(place, j); });
  }

  /// The same of the last values of k, at the cursors: `times` rest(), less than a tile.
  void step_rest(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                 Value times, std::vector<Value>& tiles) {
    for (int64_t j = 0; j < across_; ++j) fill_with_zeros(t, copy_of(0, j));
    std::vector<Value> inits = rhs;
    inits.push_back(memory_);
    const int64_t bytes = rest(t) / group_rows(t) * weights_.bytes.fixed;
    t.b.loop("k_rest", times, inits, [&](const std::vector<Value>& p) {
      const std::vector<Value> from(p.begin(), p.end() - 1);
      for (int64_t j = 0; j < across_; ++j) {
        copy(t, from, 0, rest(t), {p.back(), tile_bytes() * j}, j);
      }
      std::vector<Value> next;
      for (const Value cursor : from) {
        next.push_back(t.b.add(cursor, step_bytes(*t.rhs.layout, rest(t)), "rhs"));
      }
      next.push_back(t.b.add(p.back(), bytes, "copy"));
      return next;
    });
    multiply(t, lhs, 0, tiles);
  }

  /// Of a row of outputs' sums.
  [[nodiscard]] int64_t row_bytes() const { return across_ * sums_.bytes.fixed; }

  /// Memory for the sums of tiles side by side (before there are any, for copies of weights: two
  /// places, which take turns, where those are made ahead) ...
  [[nodiscard]] Value make_room(const Tile1& t) const {
    const int64_t copies = copies_ahead(t) ? 2 : shares_bytes() || rest(t) != 0 ? 1 : 0;
    return t.b.scratch(std::max(sums_.rows.fixed * row_bytes(), copies * copy_bytes()), false);
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
  /// Do weights of one column, that a row of a tile each holds?
  [[nodiscard]] bool shares_bytes() const { return decode_.operands() > 1; }
  [[nodiscard]] int64_t tile_bytes() const { return weights_.rows.fixed * weights_.bytes.fixed; }

  /// Behind such iterations one more step may come, whose copy is where that of a first one is.
  [[nodiscard]] bool copies_ahead(const Tile1& t) const {
    return shares_bytes() && t.v.knobs.unroll_k == 2 * tile_k_;
  }

  /// Of a copy of the tiles of weights that lie side by side.
  [[nodiscard]] int64_t copy_bytes() const { return across_ * tile_bytes(); }
  /// The `j`th tile of the copy in place 0 or 1.
  [[nodiscard]] Place copy_of(int64_t place, int64_t j) const {
    return {memory_, place * copy_bytes() + j * tile_bytes()};
  }

  /// Copies the first step of k to place 0, if there is one.
  void copy_first(const Tile1& t) {
    const std::vector<Value> first = code_pointers(t, t.rhs);
    const Value k = padded_k(t, *t.rhs.layout);
    const Value steps = quotient(t.b, k, tile_k_);
    const Value once = t.b.op(OpCode::imin, {steps, t.b.constant(1)});
    t.b.loop("k_first", once, first, [&](const std::vector<Value>& rhs) {
      for (int64_t part = 0; part < parts_; ++part) copy_part(t, rhs, 0, part, 0);
      return rhs;
    });
    const Length step = step_bytes(*t.rhs.layout, tile_k_);
    const Value all = t.b.op(OpCode::imul, {steps, t.b.constant(step.fixed)});
    last_.clear();
    for (const Value cursor : first) {
      const Value end = t.b.op(OpCode::iadd, {cursor, all}, {}, "end", Role::address);
      last_.push_back(t.b.add(end, -step.fixed, "last"));
    }
  }

  /// Where the step of k begins that is `k` values after the cursors; behind the last one this one
  /// again, whose copy nobody reads.
  [[nodiscard]] std::vector<Value> next_step(const Tile1& t, const std::vector<Value>& rhs,
                                             int64_t k) const {
    std::vector<Value> next;
    for (size_t i = 0; i < rhs.size(); ++i) {
      const Value at = t.b.add(rhs[i], step_bytes(*t.rhs.layout, k), "next");
      next.push_back(t.b.op(OpCode::imin, {at, last_[i]}, {}, "next", Role::address));
    }
    return next;
  }

  /// One of the parts of the step of k that begins `k` values after the cursors.
  void copy_part(const Tile1& t, const std::vector<Value>& rhs, int64_t k, int64_t part,
                 int64_t place) const {
    for (int64_t j = 0; j < across_; ++j) {
      Place to = copy_of(place, j);
      to.offset = to.offset + weights_.bytes * (part * decode_.operands());
      copy(t, rhs, k + part * group(), group(), to, j);
    }
  }

  /// `depth` values of k of the `j`th tile of weights, from value k on after the cursors.
  void copy(const Tile1& t, const std::vector<Value>& rhs, int64_t k, int64_t depth, Place to,
            int64_t j) const {
    const int64_t together = group_rows(t) * decode_.operands();
    for (int64_t at = 0; at < depth; at += together) {
      const Place from = columns(t, rhs, j, k + at);
      const Value codes =
          t.b.op(OpCode::load, {from.pointer}, {.offset = from.offset}, "codes", Role::operand);
      for (const Value row : decode_(t, codes, j)) {
        t.b.op(OpCode::store, {to.pointer, row}, {.offset = to.offset});
        to.offset = to.offset + weights_.bytes;
      }
    }
  }

  void fill_with_zeros(const Tile1& t, const Place& to) const {
    const Value zero = t.b.op(OpCode::zero, {}, {}, "zero", Role::operand);
    for (int64_t row = 0; row < weights_.rows.fixed; ++row) {
      t.b.op(OpCode::store, {to.pointer, zero}, {.offset = to.offset + weights_.bytes * row});
    }
  }

  /// Values of k of a row of a tile of weights.
  [[nodiscard]] static int64_t group_rows(const Tile1& t) { return t.rhs.layout->order.kr; }

  /// By the copy in place 0.
  void multiply(const Tile1& t, const std::vector<Value>& lhs, int64_t k,
                std::vector<Value>& tiles) {
    for (int64_t part = 0; part < parts_; ++part) {
      multiply_part(t, lhs, k, part, tiles, copied_row_, [&](int64_t j) { return copy_of(0, j); });
    }
  }

  /// One of the parts of all products, which take turns. Activations from value k on after the
  /// cursors; `columns`: where the weights of a tile are.
  template <typename Columns>
  void multiply_part(const Tile1& t, const std::vector<Value>& lhs, int64_t k, int64_t part,
                     std::vector<Value>& tiles, Value row_bytes, const Columns& columns) {
    const int64_t products = down_ * across_;
    for (int64_t at = products * part / parts_; at < products * (part + 1) / parts_; ++at) {
      const int64_t i = at % down_, j = at / down_;
      if (j == 0) {
        const Length from = code_offset(*t.lhs.layout, i * sums_.rows.fixed, k);
        a_.resize(static_cast<size_t>(down_));
        a_[static_cast<size_t>(i)] =
            load(t, activations_, {lhs.front(), from}, lhs_row_, fmt::format("a_{}", i));
      }
      if (i == 0) b_ = load(t, weights_, columns(j), row_bytes, fmt::format("b_{}", j));
      Value& tile = tiles[static_cast<size_t>(i * across_ + j)];
      tile = t.b.op(product_, {tile, a_[static_cast<size_t>(i)], b_}, {},
                    fmt::format("tile_{}_{}", i, j), Role::accumulator);
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
  int64_t down_, across_;  ///< tiles of sums
  int64_t tile_k_, parts_ = 1;
  Decoder decode_;
  std::vector<Value> a_;  ///< of the products at hand, activations of all rows ...
  Value b_ = no_value;    ///< ... and weights of some columns
  Value memory_ = no_value;
  /// Of copies made ahead, in each panel: where the last step of k begins, and the one at hand.
  std::vector<Value> last_, next_;
  /// Bytes from row to row of a tile, of weights where they lie and in memory_.
  Value lhs_row_ = no_value, rhs_row_ = no_value, copied_row_ = no_value;
};

/// Over all of k: whole tiles, then what is left of the weights, if anything is.
std::vector<Value> multiply_tiles(const Tile1& t, TileDot& how) {
  const int64_t rest = TileDot::rest(t);
  if (rest == 0) return multiply_all(t, how, {});
  const Value k = padded_k(t, *t.rhs.layout);
  const KState state = multiply_whole(t, how, {}, k);
  const Value left = t.b.op(OpCode::iand_imm, {k}, {.imm = how.tile_k() - 1});
  const Value times = quotient(t.b, left, rest);
  const Value once = t.b.op(OpCode::imin, {times, t.b.constant(1)});
  return t.b.loop("k_part", once, state.carried, [&](std::vector<Value> tiles) {
    how.step_rest(t, state.lhs, state.rhs, times, tiles);
    return tiles;
  });
}

}  // namespace

void lower_tile_products(const Tile1& t) {
  TileDot how(t.v);
  const Value sums = how.make_room(t);
  how.use(sums);
  const std::vector<Value> tiles = multiply_tiles(t, how);
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
