// Technique `outer`: an accumulator tile takes the products of a vector of rows with a vector of
// columns, as many values of k at a time as 32 bits hold. Floats and bytes are what they are;
// nibbles come signed out of a table, or as high nibbles of bytes, or one after the other of codes
// of a column that share bytes, with their tops, or are multiplied as raw bytes like in ColumnDot
// (dot.cpp), one tile with the raw byte and one with the low nibble. With f16 they come as such out
// of a table, and are multiplied by their scales first.
#include <fmt/format.h>

#include <algorithm>

#include "lower/output.h"
#include "lower/splat.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

class Outer : public TileMultiplier {
 public:
  explicit Outer(const Variant& v)
      : blocks_(ratio(v.tile.m, v.isa->tile_rows())),
        vectors_(ratio(v.tile.n, v.isa->tile_columns())),
        bits_(bits(v.lhs.element)),
        product_(contract_of(v).code()),
        pair_(v.rhs.order.pair),
        decoder_(v),
        table_decoder_(v),
        halves_(multiplies_as_halves(*v.family.lhs, *v.family.rhs)) {}

  [[nodiscard]] int64_t group() const override {
    return halves_ ? nibbles_k : operands() * 32 / bits_;
  }

  void prepare(const Tile1& t) override {
    all_ = t.b.op(OpCode::pred_all, {}, {.bits = bits_}, "all", Role::mask);
    if (operands() > 1) decoder_.prepare(t);
    if (is_raw()) mask_ = splat32(t.b, 0x0f0f0f0fU, "mask", Role::mask);
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>&) override {
    std::vector<Value> tiles;
    for (int64_t i = 0; i < blocks_ * vectors_; ++i) {
      tiles.push_back(t.b.op(OpCode::tile_zero, {}, {},
                             fmt::format("tile_{}_{}", i / vectors_, i % vectors_),
                             Role::accumulator));
    }
    return tiles;
  }

  /// The scales of a vector of columns in both halves of its lanes, as their products have them.
  void begin_block(const Tile1& t, const std::vector<Value>& rhs) override {
    scales_.clear();
    const Value cursor = field_cursors(*t.rhs.layout, rhs).front();
    for (int64_t j = 0; j < vectors_; j += 2) {
      const Length at =
          block_field(*t.rhs.layout, FieldKind::scales) + t.b.isa().vector_bytes * (j / 2);
      const Value two = t.b.op(OpCode::load, {cursor}, {.offset = at}, "scales", Role::operand);
      for (int64_t half = 0; half < 2; ++half) {
        scales_.push_back(t.b.op(OpCode::twice, {two}, {.bits = 16, .imm = half},
                                 fmt::format("scale_{}", j + half), Role::operand));
      }
    }
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& tiles) override {
    step_columns(t, lhs, rhs, g, {0, vectors_}, tiles);
  }

  void step_columns(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                    int64_t g, Columns columns, std::vector<Value>& tiles) override {
    if (halves_) return multiply_halves(t, lhs, rhs, g * nibbles_k, tiles);
    if (operands() > 1) return multiply_depths(t, lhs, rhs, g, columns, tiles);
    const int64_t k = g * group();
    const std::vector<Value> a = load_rows(t, lhs, k);
    const int64_t count = std::min(columns.count, together());
    for (int64_t j = columns.first; j < columns.first + columns.count; j += count) {
      const std::vector<Value> b = load_columns(t, rhs, {j, count}, k);
      for (int64_t i = 0; i < blocks_; ++i) {
        for (int64_t of = 0; of < count; ++of) {
          multiply(t, a[static_cast<size_t>(i)], b[static_cast<size_t>(of)], i, j + of, tiles);
        }
      }
    }
  }

  Value row_sum(const Tile1& t, const std::vector<Value>& tiles, int64_t block, int64_t vector,
                Value row, Value negated) override {
    if (!is_raw()) return tile_row(t, tiles, block, vector, row);
    if (vector % 2 == 0) {
      const Value high = tile_row(t, tiles, block, vector, row);
      const Value low = tile_row(t, tiles, block, vector + 1, row);
      return high_sum(t, high, low);
    }
    const Value low = tile_row(t, tiles, block, vector, row);
    return t.b.op(OpCode::sub, {low, negated}, {.bits = 32}, "low", Role::accumulator);
  }

 private:
  static constexpr int64_t nibbles_k = 4;      ///< of a column, which lie together: the layout's kr
  static constexpr int64_t table_vectors = 4;  ///< of columns, that a vector of nibbles becomes

  /// Bytes of two columns' nibbles, not codes one after the other.
  [[nodiscard]] bool is_raw() const { return pair_ == NibblePair::column; }

  /// Of a byte, for one column: so many values of k.
  [[nodiscard]] int64_t operands() const {
    return pair_ == NibblePair::depth ? decoder_.operands() : 1;
  }

  /// Vectors of columns that are loaded together: those whose codes share bytes.
  [[nodiscard]] int64_t together() const {
    return pair_ == NibblePair::next ? table_decoder_.count() : 2;
  }

  /// The low codes of all before the higher ones: a tile's next turn is far off.
  void multiply_depths(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                       int64_t g, Columns columns, std::vector<Value>& tiles) const {
    const Layout& layout = *t.rhs.layout;
    const int64_t k = first_k(layout, g);
    std::vector<std::vector<Value>> codes;  // [vector][operand]
    for (int64_t j = 0; j < columns.count; ++j) {
      codes.push_back(decoder_.load(t, rhs, columns.first + j, k));
    }
    for (int64_t i = 0; i < operands(); ++i) {
      const std::vector<Value> a = load_rows(t, lhs, k + i * layout.order.distance);
      for (int64_t j = 0; j < columns.count; ++j) {
        const Value b = codes[static_cast<size_t>(j)][static_cast<size_t>(i)];
        for (int64_t block = 0; block < blocks_; ++block) {
          multiply(t, a[static_cast<size_t>(block)], b, block, columns.first + j, tiles);
        }
      }
    }
  }

  /// Four nibbles of each column, in two bytes: after the first bytes of all columns their second
  /// ones, two values of k each, as many as an operand holds.
  void multiply_halves(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                       int64_t k, std::vector<Value>& tiles) const {
    constexpr OpCode bytes[] = {OpCode::uzp_even, OpCode::uzp_odd};
    for (int64_t first = 0; first < vectors_; first += table_vectors) {
      const int64_t at = first / 2;  // a vector of nibbles is two of columns
      const Value raw[] = {load_codes(t, rhs, at, k, "b"), load_codes(t, rhs, at + 1, k, "b")};
      for (int64_t i = 0; i < 2; ++i) {
        const Value codes = t.b.op(bytes[i], {raw[0], raw[1]}, {.bits = 8}, "codes", Role::operand);
        const std::vector<Value> a = load_rows(t, lhs, k + i * t.lhs.layout->order.kr);
        multiply_codes(t, a, codes, first, tiles);
      }
    }
  }

  /// Two values of k of each of the columns from vector `first` on.
  void multiply_codes(const Tile1& t, const std::vector<Value>& a, Value codes, int64_t first,
                      std::vector<Value>& tiles) const {
    for (int64_t j = first; j < first + table_vectors; ++j) {
      const std::string name = fmt::format("b_{}", j);
      const Value code =
          t.b.op(OpCode::nibble_halves, {codes}, {.imm = j - first}, name, Role::operand);
      const Value b = t.b.op(OpCode::fmul_f16, {code, scales_[static_cast<size_t>(j)]}, {}, name,
                             Role::operand);
      for (int64_t block = 0; block < blocks_; ++block) {
        multiply(t, a[static_cast<size_t>(block)], b, block, j, tiles);
      }
    }
  }

  [[nodiscard]] std::vector<Value> load_rows(const Tile1& t, const std::vector<Value>& lhs,
                                             int64_t k) const {
    std::vector<Value> a;
    for (int64_t i = 0; i < blocks_; ++i) {
      const Length at = code_offset(*t.lhs.layout, 0, k) + t.b.isa().vector_bytes * i;
      a.push_back(t.b.op(OpCode::load, {lhs.front()}, {.offset = at}, fmt::format("a_{}", i),
                         Role::operand));
    }
    return a;
  }

  /// Operands of columns, some or all of those that are loaded together.
  [[nodiscard]] std::vector<Value> load_columns(const Tile1& t, const std::vector<Value>& rhs,
                                                Columns columns, int64_t k) const {
    std::vector<Value> all;
    if (pair_ == NibblePair::none) {
      for (int64_t j = 0; j < columns.count; ++j) {
        all.push_back(load_codes(t, rhs, columns.first + j, k, "b"));
      }
      return all;
    }
    const int64_t of = columns.first % together(), first = columns.first - of;
    const Value raw = load_codes(t, rhs, first / together(), k);
    if (is_raw()) {
      const std::string name = fmt::format("lo_{}", first);
      all = {raw, t.b.op(OpCode::and_, {raw, mask_}, {}, name, Role::operand)};
    } else {
      all = table_decoder_(t, raw, first);
    }
    return {all.begin() + of, all.begin() + of + columns.count};
  }

  void multiply(const Tile1& t, Value a, Value b, int64_t block, int64_t vector,
                std::vector<Value>& tiles) const {
    Value& tile = tiles[static_cast<size_t>(block * vectors_ + vector)];
    tile = t.b.op(product_, {tile, a, b, all_, all_}, {}, fmt::format("tile_{}_{}", block, vector),
                  Role::accumulator);
  }

  [[nodiscard]] Value tile_row(const Tile1& t, const std::vector<Value>& tiles, int64_t block,
                               int64_t vector, Value row) const {
    const Value tile = tiles[static_cast<size_t>(block * vectors_ + vector)];
    return t.b.op(OpCode::tile_row, {tile, row}, {}, fmt::format("sum_{}", vector),
                  Role::accumulator);
  }

  int64_t blocks_;   ///< tiles one above the other
  int64_t vectors_;  ///< and side by side
  int bits_;         ///< of an element of the operands
  OpCode product_;
  NibblePair pair_;
  Decoder decoder_;
  TableDecoder table_decoder_;
  bool halves_;  ///< nibbles become f16, with their scales
  std::vector<Value> scales_;
  Value mask_ = no_value;
  Value all_ = no_value;
};

}  // namespace

std::unique_ptr<TileMultiplier> make_outer(const Variant& v) {
  return std::make_unique<Outer>(v);
}

void lower_tiles(const Tile1& t) {
  const std::unique_ptr<TileMultiplier> how = make_outer(t.v);
  const std::vector<Value> tiles =
      t.v.rhs.block != 0 ? multiply_blocks(t, *how) : multiply_all(t, *how, {});
  store_tile_sums(t, [&](int64_t block, int64_t j, Value row, Value negated) {
    return how->row_sum(t, tiles, block, j, row, negated);
  });
}

}  // namespace tw
