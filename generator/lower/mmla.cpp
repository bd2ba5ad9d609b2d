// Technique `mmla`: a 128-bit segment holds 2 rows x 2 columns of outputs and takes 8 values of k,
// of floats of 16 bits 4. Codes are multiplied as raw bytes, like in ColumnDot (dot.cpp): one
// decoding step for 32 codes; or, where a byte belongs to one column, its codes each by itself, or
// the byte. Two groups of half as many values of k become operands once they are bytes.
#include <fmt/format.h>

#include "lower/splat.h"
#include "lower/tile.h"
#include "model/operand_contract.h"
#include "model/reject.h"

namespace tw {
namespace {

class Mmla : public Multiplier {
 public:
  explicit Mmla(const Variant& v)
      : pairs_(v.tile.m.fixed / 2),
        halves_(ratio(v.tile.n, v.isa->vector_bytes.divided(8))),
        sets_(v.knobs.accumulators),
        kr_(v.rhs.order.kr),
        product_(contract_of(v).code()),
        by_depth_(v.rhs.order.pair != NibblePair::column),
        joins_(v.rhs.order.kr != v.lhs.order.kr),
        raw_(has_raw_blocks(v)),
        bytes_(v, true),
        decoder_(v) {
    check_segments(*v.isa);
  }

  [[nodiscard]] int64_t group() const override { return kr_ * decoder_.operands(); }

  void prepare(const Tile1& t) override {
    decoder_.prepare(t);
    if (!by_depth_) bytes_.prepare(t);
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& starts) override {
    std::vector<Value> all(static_cast<size_t>(sets_ * pairs_ * halves_), no_value);
    // High and low start alike, the start cancels in high - low. Neighbours in memory are loaded
    // one after the other.
    const std::vector<Start> pairs = starts_of_pairs(t, starts);
    for (size_t i = 0; i < static_cast<size_t>(halves_); ++i) {
      for (size_t p = 0; p < pairs.size(); ++p) {
        const std::string name = name_of(static_cast<int64_t>(p), static_cast<int64_t>(i));
        all[p * static_cast<size_t>(halves_) + i] =
            pairs[p].negated != no_value ? start_of(t, pairs[p], name)
                                         : load_segment(t, pairs[p].place, name, Role::accumulator);
      }
    }
    for (size_t i = 0; i < all.size(); ++i) {
      if (all[i] != no_value) continue;
      const auto at = static_cast<int64_t>(i);
      all[i] = t.b.op(OpCode::zero, {}, {}, name_of(at / halves_ % pairs_, at % halves_),
                      Role::accumulator);
    }
    return all;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) override {
    const int64_t k = first_k(*t.rhs.layout, g);
    const int64_t groups = joins_ ? 2 : 1;  // of an operand
    const int64_t count = decoder_.operands() / groups;
    std::vector<std::vector<Value>> a;
    for (int64_t i = 0; i < count; ++i)
      a.push_back(activations(t, lhs, k + i * groups * t.rhs.layout->order.distance));
    const int64_t parts = joins_ || !by_depth_ ? 2 : 1;  // operands of other columns
    for (int64_t j = 0; j < halves_ / parts; ++j) {
      std::vector<Value> codes = decoder_.load(t, rhs, j, k);
      if (!by_depth_) codes.push_back(bytes_.low_nibbles(t, codes[0], j));
      for (int64_t i = 0; i < count; ++i) {
        for (int64_t part = 0; part < parts; ++part) {
          const Value operand =
              joins_ ? joined(t, codes, i, part, j) : codes[static_cast<size_t>(i + part)];
          multiply(t, a[static_cast<size_t>(i)], operand, count * g + i, parts * j + part, acc);
        }
      }
    }
  }

  Rows finish(const Tile1& t, const std::vector<Value>& acc) override {
    std::vector<Value> sum = add_sets(t, acc, static_cast<size_t>(sets_));
    for (size_t i = 0; i < sum.size() && !by_depth_; i += 2)
      sum[i] = high_sum(t, sum[i], sum[i + 1]);
    return in_rows(t, sum);
  }

  /// 2 x 2 outputs a vector, as they are accumulated.
  std::vector<Value> reals(const Tile1& t, const std::vector<Value>& acc) override {
    if (!is_segment(t)) return Multiplier::reals(t, acc);
    const std::vector<Value> sum = add_sets(t, acc, static_cast<size_t>(sets_));
    std::vector<Value> all;
    for (size_t i = 0; i < sum.size(); i += 2) {
      if (raw_) {
        const auto [high, low] = bytes_.reals(t, sum[i], sum[i + 1]);
        all.insert(all.end(), {high, low});
        continue;
      }
      const Value first = by_depth_ ? sum[i] : high_sum(t, sum[i], sum[i + 1]);
      for (const Value one : {first, sum[i + 1]}) {
        all.push_back(real_of_sum(t, one));
      }
    }
    return all;
  }

  std::vector<Value> column_scales(const Tile1& t, const std::vector<Value>& scales) override {
    if (!is_segment(t)) return Multiplier::column_scales(t, scales);
    std::vector<Value> halves;
    for (const Value four : scales) {
      for (const OpCode half : {OpCode::zip_lo, OpCode::zip_hi}) {
        halves.push_back(t.b.op(half, {four, four}, {.bits = 64}, "scale_columns", Role::operand));
      }
    }
    std::vector<Value> all;
    for (int64_t p = 0; p < pairs_; ++p) all.insert(all.end(), halves.begin(), halves.end());
    return all;
  }

  /// Packed as [r0 r0 r1 r1].
  std::vector<Value> row_scales(const Tile1& t, const std::vector<Place>& rows) override {
    if (!is_segment(t)) return Multiplier::row_scales(t, rows);
    std::vector<Value> all;
    for (size_t r = 0; r < rows.size(); r += 2) {
      const bool once = has_half_scales(t) || has_real_sums(*t.lhs.layout);
      const Value pair =
          once ? pair_of_rows(t, rows, r) : load_segment(t, rows[r], "scale_rows", Role::operand);
      all.insert(all.end(), static_cast<size_t>(halves_), pair);
    }
    return all;
  }

  std::vector<Value> zero_factors(const Tile1& t, float by) override {
    return raw_ ? bytes_.zero_factors(t, by) : Multiplier::zero_factors(t, by);
  }

  std::vector<Value> negated_sums(const Tile1& t, const std::vector<Place>& rows) override {
    if (!is_segment(t)) return Multiplier::negated_sums(t, rows);
    std::vector<Value> all;
    for (size_t r = 0; r < rows.size(); r += 2) {
      const Value start = load_segment(t, rows[r], "sums_of_codes", Role::operand);
      const Value sum = bytes_.negated_sum(t, raw_ ? start : codes_of_sum(t, start));
      all.insert(all.end(), static_cast<size_t>(halves_), sum);
    }
    return all;
  }

  Rows arrange(const Tile1& t, const std::vector<Value>& totals) override {
    if (!is_segment(t)) return Multiplier::arrange(t, totals);
    return in_rows(t, raw_ ? without_factor(t, totals) : totals);
  }

 private:
  /// Of two rows each: [r0 r0 r1 r1], as the layout keeps it with blocks.
  static std::vector<Start> starts_of_pairs(const Tile1& t, const std::vector<Start>& rows) {
    std::vector<Start> pairs;
    for (size_t r = 0; r < rows.size(); r += 2) {
      pairs.push_back(rows[r]);
      if (rows[r].negated == no_value) continue;
      pairs.back().negated = t.b.op(OpCode::zip_lo, {rows[r].negated, rows[r + 1].negated},
                                    {.bits = 64}, "sums_of_codes", Role::operand);
    }
    return pairs;
  }

  /// [r0 r0 r1 r1] of what stands once for each; four are loaded together.
  static Value pair_of_rows(const Tile1& t, const std::vector<Place>& rows, size_t r) {
    if (t.lhs.rows % segment_lanes != 0) {
      reject("lhs panels of {} are not possible with one scale a row and mmla: multiples of {} are",
             t.lhs.rows, segment_lanes);
    }
    const Value four = rows_together(t, rows[r / 4 * 4]);
    const OpCode interleave = r % 4 == 0 ? OpCode::zip_lo : OpCode::zip_hi;
    return t.b.op(interleave, {four, four}, {.bits = 32}, "scale_rows", Role::operand);
  }

  /// 2 x 2 outputs fill a vector; in longer ones their columns lie apart.
  static bool is_segment(const Tile1& t) { return t.b.isa().vector_bytes == Length{16}; }

  [[nodiscard]] std::string name_of(int64_t pair, int64_t half) const {
    return by_depth_ ? fmt::format("acc_{}_{}", pair, half)
                     : fmt::format("acc_{}_{}{}", pair, half / 2, half % 2 == 0 ? "h" : "l");
  }

  /// From vectors of 2 x 2 outputs.
  [[nodiscard]] Rows in_rows(const Tile1& t, const std::vector<Value>& all) const {
    Rows rows(static_cast<size_t>(2 * pairs_));
    for (size_t i = 0; i < all.size(); i += 2) {
      const size_t pair = i / static_cast<size_t>(halves_);
      for (const size_t row : {2 * pair, 2 * pair + 1}) {
        const OpCode pick = row % 2 == 0 ? OpCode::uzp_even : OpCode::uzp_odd;
        rows[row].push_back(t.b.op(pick, {all[i], all[i + 1]}, {.bits = 64},
                                   fmt::format("row_{}", row), Role::accumulator));
      }
    }
    return rows;
  }

  /// Two groups that lie side by side in k, a vector of columns each: joined they are an operand of
  /// its first columns, and one of the others.
  static Value joined(const Tile1& t, const std::vector<Value>& codes, int64_t which, int64_t part,
                      int64_t j) {
    const auto i = static_cast<size_t>(which);
    return t.b.op(part == 0 ? OpCode::zip_lo : OpCode::zip_hi, {codes[2 * i], codes[2 * i + 1]},
                  {.bits = 32}, fmt::format("codes_{}", j), Role::operand);
  }

  /// One group of k of every pair of rows.
  [[nodiscard]] std::vector<Value> activations(const Tile1& t, const std::vector<Value>& lhs,
                                               int64_t k) const {
    std::vector<Value> a;
    for (int64_t p = 0; p < pairs_; ++p) {
      const Place place{lhs[static_cast<size_t>(2 * p / t.lhs.rows)],
                        code_offset(*t.lhs.layout, 2 * p % t.lhs.rows, k)};
      a.push_back(load_segment(t, place, fmt::format("a_{}", p), Role::operand));
    }
    return a;
  }

  void multiply(const Tile1& t, const std::vector<Value>& a, Value codes, int64_t turn,
                int64_t half, std::vector<Value>& acc) const {
    for (int64_t p = 0; p < pairs_; ++p) {
      Value& sum = acc[static_cast<size_t>((turn % sets_ * pairs_ + p) * halves_ + half)];
      sum = t.b.op(product_, {sum, a[static_cast<size_t>(p)], codes}, {},
                   fmt::format("acc_{}_{}", p, half), Role::accumulator);
    }
  }

  int64_t pairs_;
  int64_t halves_;  ///< pairs of columns, an accumulator each: half a vector of outputs
  int64_t sets_;
  int64_t kr_;
  OpCode product_;
  bool by_depth_;  ///< bytes belong to one column each
  bool joins_;     ///< groups of half of an operand's values of k
  bool raw_;
  RawBytes bytes_;
  Decoder decoder_;
};

}  // namespace

std::unique_ptr<Multiplier> make_mmla(const Variant& v) {
  return std::make_unique<Mmla>(v);
}

}  // namespace tw
