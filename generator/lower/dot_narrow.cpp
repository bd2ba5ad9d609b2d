// Technique `dot` where products of neighbours add up in 16 bits: a group of 32 k, or a shorter
// block, fits them, for any codes of up to 4 bits (16 products of 15 * -128 make -30720), of wider
// ones fewer, down to those of one operand; then it is added to 32-bit sums.
#include <fmt/format.h>

#include <algorithm>

#include "lower/splat.h"
#include "lower/tile.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

constexpr int64_t operand_k = 4;  ///< of a group's values, that a vector of codes holds

/// Codes stored unsigned in the unsigned operand.
class NarrowDot : public Multiplier {
 public:
  explicit NarrowDot(const Variant& v)
      : rows_(v.tile.m.fixed),
        vectors_(ratio(v.tile.n, v.isa->vector_bytes.divided(4))),
        depth_(depth_of(v)),
        in_memory_(has_loop(v) && !fit_registers(v)),
        decoder_(v),
        group_(std::max(depth_, decoder_.operands() * operand_k)) {}

  [[nodiscard]] int64_t group() const override { return group_; }

  void prepare(const Tile1& t) override {
    decoder_.prepare(t);
    ones_ = splat32(t.b, 0x00010001U, "ones", Role::mask);
    const int64_t bytes = in_memory_ ? rows_ * vectors_ * vector_bytes(t) : 0;
    totals_ = make_totals_room(t, bytes);
    scratch_ = totals_.memory.pointer;
    if (in_memory_ && scratch_ == no_value) scratch_ = t.b.scratch(bytes);
  }

  [[nodiscard]] TotalsRoom totals() const override { return totals_; }

  std::vector<Value> row_scales(const Tile1& t, const std::vector<Place>& rows) override {
    return shared_row_scales(t, rows);
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& starts) override {
    if (!has_loop(t.v)) {  // they last for a block: loaded where they are added
      starts_ = starts;
      return std::vector<Value>(static_cast<size_t>(rows_ * vectors_), no_value);
    }
    std::vector<Value> all;
    for (int64_t r = 0; r < rows_; ++r) {
      Value sum = no_value;
      for (int64_t j = 0; j < vectors_; ++j) {
        if (j == 0 || !in_memory_) {
          const std::string name = fmt::format("sum_{}_{}", r, j);
          sum = starts.empty() ? t.b.op(OpCode::zero, {}, {}, name, Role::accumulator)
                               : start_of(t, starts[static_cast<size_t>(r)], name);
        }
        if (in_memory_) {
          t.b.op(OpCode::store, {scratch_, sum}, {.offset = place(t, r, j)});
        } else {
          all.push_back(sum);
        }
      }
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& sums) override {
    std::vector<Value> narrow(static_cast<size_t>(rows_ * vectors_), no_value);
    const int64_t count = decoder_.operands();
    const int64_t vectors = group_ / (count * operand_k);
    int64_t added = 0;  // values of k, in 16 bits
    for (int64_t i = g * vectors; i < (g + 1) * vectors; ++i) {
      const int64_t k = first_k(*t.rhs.layout, i);
      // Four operands of each vector and what blocks need are more than there are registers.
      const bool one_by_one = t.v.rhs.block != 0 && count > 2;
      std::vector<Decoder::Packed> packed;    // [vector]
      std::vector<std::vector<Value>> codes;  // [vector][operand]
      for (int64_t j = 0; j < vectors_; ++j) {
        if (one_by_one) {
          packed.push_back(decoder_.load_packed(t, rhs, j, k));
          codes.emplace_back();
        } else {
          codes.push_back(decoder_.load(t, rhs, j, k));
        }
      }
      for (int64_t which = 0; which < count; ++which) {
        const int64_t from = k + which * t.rhs.layout->order.distance;
        for (size_t j = 0; j < packed.size(); ++j) {
          codes[j].push_back(decoder_.operand(t, packed[j], which));
        }
        for (int64_t r = 0; r < rows_; ++r) {
          multiply(t, load_activation(t, lhs, r, from, 32), codes, which, r, narrow);
        }
        added += operand_k;
        if (added % depth_ == 0) widen_all(t, narrow, sums);
      }
    }
  }

  Rows finish(const Tile1& t, const std::vector<Value>& sums) override {
    if (!in_memory_) return by_rows(sums, rows_);
    std::vector<Value> loaded;
    for (int64_t i = 0; i < rows_ * vectors_; ++i) {
      loaded.push_back(load_sum(t, i / vectors_, i % vectors_));
    }
    return by_rows(loaded, rows_);
  }

 private:
  static int64_t depth_of(const Variant& v) {
    const int64_t most = narrow_depth(*v.family.rhs);
    return v.rhs.block != 0 ? std::min<int64_t>(most, v.rhs.block) : most;
  }

  /// Whether 32-bit sums last longer than a group.
  static bool has_loop(const Variant& v) { return v.rhs.block == 0 || has_long_blocks(v.rhs); }

  /// Two accumulators an output, and beside them: raw codes, codes, activation, product and the two
  /// constants.
  static bool fit_registers(const Variant& v) {
    constexpr int64_t others = 6;
    const int64_t outputs = v.tile.m.fixed * ratio(v.tile.n, v.isa->vector_bytes.divided(4));
    return 2 * outputs + others <= v.isa->file_of(Kind::vector)->count();
  }

  static int64_t vector_bytes(const Tile1& t) { return t.b.isa().vector_bytes.fixed; }
  [[nodiscard]] int64_t place(const Tile1& t, int64_t r, int64_t j) const {
    return (r * vectors_ + j) * vector_bytes(t);
  }
  Value load_sum(const Tile1& t, int64_t r, int64_t j) {
    return t.b.op(OpCode::load, {scratch_}, {.offset = place(t, r, j)},
                  fmt::format("sum_{}_{}", r, j), Role::accumulator);
  }

  void multiply(const Tile1& t, Value a, const std::vector<std::vector<Value>>& codes,
                int64_t which, int64_t r, std::vector<Value>& narrow) {
    for (int64_t j = 0; j < vectors_; ++j) {
      Value& sum = narrow[static_cast<size_t>(r * vectors_ + j)];
      const std::string name = fmt::format("acc_{}_{}", r, j);
      const Value product = t.b.op(
          OpCode::dot2_u8s8_sat, {codes[static_cast<size_t>(j)][static_cast<size_t>(which)], a}, {},
          sum == no_value ? name : "product", sum == no_value ? Role::accumulator : Role::operand);
      sum = sum == no_value
                ? product
                : t.b.op(OpCode::add, {sum, product}, {.bits = 16}, name, Role::accumulator);
    }
  }

  /// Adds them to 32-bit sums; none are left.
  void widen_all(const Tile1& t, std::vector<Value>& narrow, std::vector<Value>& sums) {
    for (int64_t r = 0; r < rows_; ++r) {
      Value start = no_value;  // of all the row's vectors
      for (int64_t j = 0; j < vectors_; ++j) widen(t, r, j, narrow, start, sums);
    }
    std::fill(narrow.begin(), narrow.end(), no_value);
  }

  void widen(const Tile1& t, int64_t r, int64_t j, const std::vector<Value>& narrow, Value& start,
             std::vector<Value>& sums) {
    const auto at = static_cast<size_t>(r * vectors_ + j);
    const Value wide = t.b.op(OpCode::dot2_s16, {narrow[at], ones_}, {}, "wide", Role::operand);
    const bool first = !in_memory_ && sums[at] == no_value;
    if (first && start == no_value && !starts_.empty()) {
      start = start_of(t, starts_[static_cast<size_t>(r)], "sum");
    }
    const Value old = in_memory_ ? load_sum(t, r, j) : first ? start : sums[at];
    const Value sum = old == no_value ? wide
                                      : t.b.op(OpCode::add, {wide, old}, {.bits = 32},
                                               fmt::format("sum_{}_{}", r, j), Role::accumulator);
    if (in_memory_) {
      t.b.op(OpCode::store, {scratch_, sum}, {.offset = place(t, r, j)});
    } else {
      sums[at] = sum;
    }
  }

  int64_t rows_, vectors_;
  int64_t depth_;   ///< values of k whose products fit 16 bits
  bool in_memory_;  ///< the 32-bit sums, which are touched once in that many
  Decoder decoder_;
  int64_t group_;  ///< that, or what a vector of codes holds
  Value ones_ = no_value;
  Value scratch_ = no_value;
  TotalsRoom totals_;
  std::vector<Start> starts_;  ///< of the current block, a row each
};

}  // namespace

std::unique_ptr<Multiplier> make_narrow_dot(const Variant& v) {
  return std::make_unique<NarrowDot>(v);
}

}  // namespace tw
