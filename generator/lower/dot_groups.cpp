// Technique `dot` with sums in accumulator tiles, for one row of the output: four rows of a tile
// take the products of four vectors of columns, each with one lane of the activations. The columns
// are packed as for outer products (outer.cpp). Rows may be their user's own, which end with k.
// Codes that count from their middle start with minus its product with the sum of a block's
// activations, which is one of pairs: (sum, its sign) times (middle, 0).
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lower/output.h"
#include "lower/splat.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

constexpr int64_t group_vectors = 4;  ///< vectors of columns that one tile takes
constexpr int64_t lane_k = 4;         ///< values of k in a lane of activations

/// The sums of blocks leave the tiles for vectors, four of a tile at a time.
class GroupDot : public Multiplier {
 public:
  explicit GroupDot(const Variant& v)
      : groups_(ratio(v.tile.n, v.isa->vector_bytes)),
        deep_(v.rhs.order.pair == NibblePair::depth),
        columns_(deep_ ? 1 : byte_codes(v.rhs)),
        table_decoder_(v),
        decoder_(v),
        distance_(v.rhs.order.distance),
        middle_(-start_factor(v)) {}

  [[nodiscard]] int64_t group() const override {
    return deep_ ? depth_k() : segment_lanes * lane_k;
  }

  void prepare(const Tile1& t) override {
    if (deep_) decoder_.prepare(t);
    for (size_t i = 0; middle_ != 0 && i < middles_.size(); ++i) {
      middles_[i] = splat32(t.b, static_cast<uint32_t>(middle_), "middle", Role::operand);
    }
    if (t.v.rhs.block != 0) row_ = t.b.op(OpCode::constant, {}, {.imm = 0}, "row");
  }

  std::vector<Value> start(const Tile1& t, const std::vector<Start>& starts) override {
    std::vector<Value> tiles;
    for (int64_t i = 0; i < groups_; ++i) {
      tiles.push_back(
          t.b.op(OpCode::tile_zero, {}, {}, fmt::format("tile_{}", i), Role::accumulator));
    }
    if (middle_ == 0) return tiles;
    const Value sums = load_dup32(t, starts.front().place, "sums");
    for (Value& tile : tiles) {
      tile = t.b.op(OpCode::tile_dot2_s16s16_lane,
                    {tile, middles_[0], middles_[1], middles_[2], middles_[3], sums}, {.imm = 0},
                    "tile", Role::accumulator);
    }
    return tiles;
  }

  void step(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& tiles) override {
    const int64_t k = g * group();
    if (deep_) return multiply_depths(t, lhs, rhs, k, tiles);
    const Value a =
        load_segment(t, {lhs.front(), code_offset(*t.lhs.layout, 0, k)}, "a", Role::operand);
    multiply_lanes(t, rhs, a, k, segment_lanes, tiles);
  }

  Rows finish(const Tile1& t, const std::vector<Value>& tiles) override {
    std::vector<Value> sums;
    for (const Value tile : tiles) {
      for (int64_t i = 0; i < group_vectors; ++i) {
        sums.push_back(t.b.op(OpCode::tile_quarter, {tile, row_}, {.imm = i},
                              fmt::format("sum_{}", sums.size()), Role::accumulator));
      }
    }
    return {sums};
  }

  /// A lane's values of k, of which `left` exist.
  void step_end(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                Value left, std::vector<Value>& tiles) {
    const Value exist = t.b.op(OpCode::pred_first, {left}, {.bits = 8}, "exist", Role::other);
    const Value a =
        t.b.op(OpCode::load_pred_dup, {exist, lhs.front()}, {.bits = 8}, "a", Role::operand);
    multiply_lanes(t, rhs, a, 0, 1, tiles);
  }

 private:
  /// Values of k of whole segments of activations, and of all codes of a byte.
  [[nodiscard]] int64_t depth_k() const {
    return std::max(segment_lanes * lane_k, decoder_.operands() * distance_);
  }

  /// Those values, of which a byte holds some that are far apart.
  void multiply_depths(const Tile1& t, const std::vector<Value>& lhs, const std::vector<Value>& rhs,
                       int64_t first, std::vector<Value>& tiles) {
    constexpr int64_t segment_k = segment_lanes * lane_k;
    std::vector<Value> segments;
    for (int64_t k = first; k < first + group(); k += segment_k) {
      segments.push_back(
          load_segment(t, {lhs.front(), code_offset(*t.lhs.layout, 0, k)}, "a", Role::operand));
    }
    for (int64_t k = 0; k < group(); k += lane_k) {
      if (k % (decoder_.operands() * distance_) >= distance_) continue;  // in the bytes of others
      for (int64_t i = 0; i < groups_; ++i) {
        std::array<std::vector<Value>, group_vectors> codes;  // [vector][operand]
        for (int64_t j = 0; j < group_vectors; ++j) {
          codes[static_cast<size_t>(j)] = decoder_.load(t, rhs, group_vectors * i + j, first + k);
        }
        for (int64_t of = 0; of < decoder_.operands(); ++of) {
          const int64_t at = k + of * distance_;
          const auto operand = static_cast<size_t>(of);
          multiply(t, {codes[0][operand], codes[1][operand], codes[2][operand], codes[3][operand]},
                   segments[static_cast<size_t>(at / segment_k)], at % segment_k / lane_k,
                   tiles[static_cast<size_t>(i)]);
        }
      }
    }
  }

  /// The first lanes of a segment.
  void multiply_lanes(const Tile1& t, const std::vector<Value>& rhs, Value a, int64_t k,
                      int64_t lanes, std::vector<Value>& tiles) const {
    const int64_t count = group_vectors / columns_;  // of codes
    for (int64_t i = 0; i < groups_; ++i) {
      std::vector<std::vector<Value>> raw;  // [vector][lane]
      for (int64_t j = count * i; j < count * (i + 1); ++j) {
        raw.emplace_back();
        for (int64_t lane = 0; lane < lanes; ++lane) {
          raw.back().push_back(load_codes(t, rhs, j, k + lane * lane_k));
        }
      }
      for (int64_t lane = 0; lane < lanes; ++lane) {
        std::vector<Value> b;
        for (int64_t j = 0; j < count; ++j) {
          const Value codes = raw[static_cast<size_t>(j)][static_cast<size_t>(lane)];
          const std::vector<Value> operands =
              columns_ == 1 ? std::vector{codes} : table_decoder_(t, codes, columns_ * j);
          b.insert(b.end(), operands.begin(), operands.end());
        }
        multiply(t, b, a, lane, tiles[static_cast<size_t>(i)]);
      }
    }
  }

  /// `b`: four vectors of columns.
  static void multiply(const Tile1& t, const std::vector<Value>& b, Value a, int64_t lane,
                       Value& tile) {
    tile = t.b.op(OpCode::tile_dot4_s8s8_lane, {tile, b[0], b[1], b[2], b[3], a}, {.imm = lane},
                  "tile", Role::accumulator);
  }

  int64_t groups_;
  bool deep_;        ///< a byte holds codes of one column
  int64_t columns_;  ///< vectors of them in a vector of codes
  TableDecoder table_decoder_;
  Decoder decoder_;
  int64_t distance_;  ///< of the codes of a byte, in k
  int middle_;        ///< code, which is worth 0
  std::array<Value, group_vectors> middles_{};
  Value row_ = no_value;  ///< the first, for sums of blocks
};

/// The epilogue of epilogue_channel.cpp, a vector of columns after the other: no more fit.
class GroupOutputs {
 public:
  GroupOutputs(const Tile1& t, const std::vector<Value>& tiles)
      : t_(t),
        b_(t.b),
        tiles_(tiles),
        sums_(has_field(t.lhs, FieldKind::zero_points) ? field_pointers(t, t.rhs, FieldKind::sums)
                                                       : std::vector<Value>()),
        scales_(takes_scales(t, t.rhs) ? field_pointers(t, t.rhs, FieldKind::scales)
                                       : std::vector<Value>()),
        bias_(bias_places(t, field_pointers(t, t.rhs, FieldKind::bias))),
        zero_(sums_.empty() ? no_value
                            : load_zero_point(t, of_row(FieldKind::zero_points), "zero")),
        row_scale_(takes_scales(t, t.lhs) ? load_dup32(t, of_row(FieldKind::scales), "scale_row")
                                          : no_value),
        output_(t) {
    if (has_field(t.rhs, FieldKind::zero_points)) {
      zeros_ = field_pointers(t, t.rhs, FieldKind::zero_points);
      const Value negated_k = minus_k(t);
      const Place zero = of_row(FieldKind::zero_points);
      row_sum_ = negated_row(t, of_row(FieldKind::sums), zero, negated_k);
    }
    for (int64_t i = 0; i < group_vectors; ++i) rows_.push_back(row_of(i));
  }

  void write() {
    for (int64_t j = 0; j < t_.vectors(); ++j) write(j);
  }

 private:
  /// The tile's row that vector `i` of a group is: as many quarters down.
  Value row_of(int64_t i) {
    const Value quarters = b_.op(OpCode::length, {}, {.offset = t_.lanes() * i});
    return b_.op(OpCode::ishr, {quarters}, {.imm = 2}, "row");
  }

  Place of_row(FieldKind kind) { return lhs_row(t_, field_pointers(t_, t_.lhs, kind), 0, kind); }

  Value of_columns(const std::vector<Value>& pointers, int64_t vector, const std::string& name) {
    const Place at = rhs_vector(t_, pointers, vector);
    return b_.op(OpCode::load, {at.pointer}, {.offset = at.offset}, name, Role::operand);
  }

  void write(int64_t vector) {
    const auto j = static_cast<size_t>(vector);
    Value sum = b_.op(OpCode::tile_row, {tiles_[j / group_vectors], rows_[j % group_vectors]}, {},
                      fmt::format("sum_{}", j), Role::accumulator);
    if (zero_ != no_value) {
      sum = add_zero_point(t_, sum, of_columns(sums_, vector, "colsum"), {zero_}, "sum");
    }
    if (row_sum_ != no_value) {
      const Value zeros = as_column_zeros(t_, of_columns(zeros_, vector, "zero"));
      sum = with_column_zero(t_, sum, zeros, row_sum_);
    }
    const Value scale = scales_.empty() ? no_value : of_columns(scales_, vector, "scale");
    const Value exist = column_predicate(t_, vector);
    const Value bias = load_bias(t_, bias_[j], exist);
    sum = output_.scaled(sum, {scale, {row_scale_}}, bias);
    if (t_.v.family.accumulate) sum = output_.add(sum, output_.load(exist, t_.dst, vector));
    output_.store(exist, t_.dst, vector, output_.finish(sum, fmt::format("out_{}", j)));
  }

  const Tile1& t_;
  Builder& b_;
  const std::vector<Value>& tiles_;  ///< row `rows_[i]` of each is a vector of columns
  std::vector<Value> sums_, scales_;
  std::vector<Place> bias_;
  std::vector<Value> zeros_;  ///< of columns
  Value zero_, row_scale_, row_sum_ = no_value;
  OutputStage output_;
  std::vector<Value> rows_;
};

/// Of a row that is not packed: whole iterations, whole segments, then a lane at a time.
std::vector<Value> multiply_row(const Tile1& t, GroupDot& how) {
  const Value k = t.b.arg(ArgField::k);
  KState state{code_pointers(t, t.lhs), code_pointers(t, t.rhs), how.start(t, {})};
  const auto whole = [&](Value of, int64_t depth, bool hot) {
    const Value count = quotient(t.b, of, depth, "k_steps");
    state = step_loop(t, {count, depth, depth / how.group(), hot}, state, how);
  };
  const auto rest = [&](int64_t of) {
    return t.b.op(OpCode::iand_imm, {k}, {.imm = of - 1}, "k_rest");
  };
  const int64_t unroll = t.v.knobs.unroll_k;
  whole(k, unroll, true);
  if (unroll > how.group()) whole(rest(unroll), how.group(), false);
  const Value left = rest(how.group());
  const Value lanes = t.b.op(OpCode::ishr, {t.b.add(left, lane_k - 1)}, {.imm = 2}, "lanes");
  state.carried.push_back(left);
  state = k_loop(t, {lanes, lane_k, 1, false}, state,
                 [&](const auto& lhs, const auto& rhs, std::vector<Value> carried, int64_t) {
                   const Value now = carried.back();
                   carried.pop_back();
                   how.step_end(t, lhs, rhs, now, carried);
                   const Value read = t.b.constant(lane_k);
                   carried.push_back(t.b.op(OpCode::isub_sat, {now, read}, {}, "left"));
                   return carried;
                 });
  state.carried.pop_back();
  return state.carried;
}

}  // namespace

std::unique_ptr<Multiplier> make_group_sums(const Variant& v) {
  return std::make_unique<GroupDot>(v);
}

void lower_channel_groups(const Tile1& t) {
  GroupDot how(t.v);
  const std::vector<Value> tiles =
      is_unpacked(t.v.lhs) ? multiply_row(t, how) : multiply_all(t, how, {});
  GroupOutputs(t, tiles).write();
}

}  // namespace tw
