// The epilogue of epilogue_block.cpp for sums in accumulator tiles. What blocks add up to is kept
// in tiles as well, and grows by four rows at a time, which lie a quarter of the tile apart; by one
// where an ISA only moves rows. Where both sides have scales per block, they are multiplied before
// the sums, of four rows by an outer product:
//   f += float(sum a q) * (scale_a * scale_w)
// Before them is added what code 0 of a column is worth times what a row's codes are: offsets, of
// rows that keep what their codes are worth together, or of minimums and of zero points:
//   f += sum_a * offset                  f += (float(-sum of a) * scale_a) * middle
//                                        f += (float(-sum of a) * scale_a) * (zero point * scale_w)
// Sums of codes that count from their middle begin with minus its product with the rows' sums.
#include <fmt/format.h>

#include <array>
#include <functional>

#include "lower/block_scales.h"
#include "lower/output.h"
#include "lower/splat.h"
#include "model/operand_contract.h"

namespace tw {
namespace {

using Four = std::array<Value, 4>;

/// Groups of four rows that a tile can have: vectors of 64 bytes first, which machines have.
constexpr int64_t tile_groups[] = {4, 1, 2, 8, 16};

class BlockTiles {
 public:
  explicit BlockTiles(const Tile1& t)
      : t_(t),
        b_(t.b),
        how_(make_outer(t.v)),
        beyond_(beyond_codes(t, t.rhs, FieldKind::scales)),
        steps_beyond_(has_steps(t.v.rhs) ? beyond_codes(t, t.rhs, FieldKind::scale_steps)
                                         : no_value),
        scaled_rows_(field_of(*t.lhs.layout, FieldKind::scales).per_block),
        has_offsets_(field_index(*t.rhs.layout, FieldKind::offsets) >= 0),
        has_minimums_(field_index(*t.rhs.layout, FieldKind::minimums) >= 0),
        has_zeros_(field_index(*t.rhs.layout, FieldKind::zero_points) >= 0),
        middle_(-start_factor(t.v)) {}

  /// The blocks' totals, a tile for each vector of columns. A loop for each number of groups, of
  /// which one runs.
  std::vector<Value> multiply() {
    how_->prepare(t_);
    const bool by_fours = b_.isa().has(OpCode::tile_fma4);
    if (middle_ != 0) {
      all_pairs_ = b_.op(OpCode::pred_all, {}, {.bits = 16}, "all_pairs", Role::mask);
      middles_ = splat32(b_, static_cast<uint32_t>(middle_), "middle", Role::mask);
    }
    if (has_offsets_ || counts_codes() || (scaled_rows_ && by_fours)) {
      all_ = b_.op(OpCode::pred_all, {}, {.bits = 32}, "all_rows", Role::mask);
    }
    for (int64_t i = 0; by_fours && i < held_rows; ++i) {
      rows_.push_back(row_number(i * groups_a_row));
    }
    KState state{block_cursors(t_, t_.lhs), block_cursors(t_, t_.rhs), {}};
    for (int64_t j = 0; j < t_.vectors(); ++j) state.carried.push_back(zero("f", j));
    const Value blocks = count_whole_blocks(t_);
    const Value rows = b_.op(OpCode::length, {}, {.offset = b_.isa().tile_rows()});
    if (!by_fours) {
      existing_ = b_.op(OpCode::imin, {t_.m_left, rows}, {}, "rows");
      return add_blocks(blocks, state, [&](KState& block) { add_block_by_rows(block); }).carried;
    }
    for (const int64_t groups : tile_groups) {
      groups_ = groups;
      const Value others = b_.op(OpCode::isub, {rows, b_.constant(groups * 4)});
      const Value count = b_.op(OpCode::if_null, {others, blocks, b_.constant(0)}, {}, "blocks");
      state = add_blocks(count, state, [&](KState& block) { add_block(block); });
    }
    return state.carried;
  }

 private:
  static constexpr int64_t groups_a_row = 2;  ///< an instruction reaches the next group as well
  static constexpr int64_t held_rows = 2;     ///< row numbers that have registers of their own

  KState add_blocks(Value count, const KState& state, const std::function<void(KState&)>& add_one) {
    const Layout& layout = t_.v.rhs;
    if (has_steps(layout)) {
      const Value blocks = b_.constant(layout.super_block / layout.block);
      return block_loop(t_, count, state, [&](KState& block) {
        for (Value& cursor : block.rhs) cursor = b_.add(cursor, steps_bytes(layout));
        steps_ = load_steps(t_, moved_beyond(t_, block.rhs, steps_beyond_));
        block = add_short_blocks(blocks, block, add_one);
        return block.carried;
      });
    }
    if (has_long_blocks(t_.v.rhs)) {
      return block_loop(t_, count, state, [&](KState& block) {
        add_one(block);
        return block.carried;
      });
    }
    return add_short_blocks(count, state, add_one);
  }

  KState add_short_blocks(Value count, const KState& state,
                          const std::function<void(KState&)>& add_one) {
    return k_loop(t_, {count, t_.v.rhs.block, 1, true}, state,
                  [&](const auto& lhs, const auto& rhs, std::vector<Value> totals, int64_t) {
                    KState block{lhs, rhs, std::move(totals)};
                    add_one(block);
                    return block.carried;
                  });
  }

  Value zero(const char* name, int64_t vector) {
    return b_.op(OpCode::tile_zero, {}, {}, fmt::format("{}_{}", name, vector), Role::accumulator);
  }

  Value row_number(int64_t group) { return b_.op(OpCode::constant, {}, {.imm = 4 * group}, "row"); }

  /// Where group `group` begins, or the one before it does.
  Value row_of(int64_t group) {
    const int64_t row = group / groups_a_row;
    return row < held_rows ? rows_[static_cast<size_t>(row)] : row_number(row * groups_a_row);
  }

  Four read(Value tile, int64_t group) {
    const Value row = row_of(group);
    Four vectors{};
    for (int64_t i = 0; i < 4; ++i) {
      vectors[static_cast<size_t>(i)] =
          b_.op(OpCode::tile_quarter, {tile, row}, {.imm = group % groups_a_row * 4 + i}, "x",
                Role::operand);
    }
    return vectors;
  }

  Four reals(Value tile, int64_t group) {
    Four vectors = read(tile, group);
    for (Value& v : vectors) v = real_of_sum(t_, v);
    return vectors;
  }

  void add(Value& total, int64_t group, const Four& a, const Four& b) {
    total = b_.op(OpCode::tile_fma4,
                  {total, row_of(group), a[0], a[1], a[2], a[3], b[0], b[1], b[2], b[3]},
                  {.imm = group % groups_a_row}, "f", Role::accumulator);
  }

  /// A block's sums of one vector of columns ...
  Value sum_of(KState& block, int64_t vector) {
    std::vector<Value> all(static_cast<size_t>(t_.vectors()), no_value);
    const auto at = static_cast<size_t>(vector);
    return sums(block, started(block, {zero("sum", vector)}),
                [&](const auto& lhs, const auto& rhs, std::vector<Value> one, int64_t g) {
                  all[at] = one[0];
                  how_->step_columns(t_, code_cursors(t_.v.lhs, lhs), code_cursors(t_.v.rhs, rhs),
                                     g, {vector, 1}, all);
                  return std::vector<Value>{all[at]};
                })
        .front();
  }

  /// ... or of all.
  std::vector<Value> all_sums(KState& block) {
    return sums(block, started(block, how_->start(t_, {})),
                [&](const auto& lhs, const auto& rhs, std::vector<Value> all, int64_t g) {
                  how_->step(t_, code_cursors(t_.v.lhs, lhs), code_cursors(t_.v.rhs, rhs), g, all);
                  return all;
                });
  }

  /// Sums, with what the middle code takes back.
  std::vector<Value> started(const KState& block, std::vector<Value> tiles) {
    if (middle_ == 0) return tiles;
    const bool from_end = is_behind_codes(t_.v.lhs, FieldKind::sums);
    const Value of_rows =
        sums_of_codes(from_end ? ends_of_codes(t_, block.lhs, t_.v.lhs) : block.lhs);
    for (Value& tile : tiles) {
      tile = b_.op(OpCode::outer_s16s16, {tile, of_rows, middles_, all_pairs_, all_pairs_}, {},
                   "tile", Role::accumulator);
    }
    return tiles;
  }

  /// Minus those of the rows.
  Value sums_of_codes(const std::vector<Value>& lhs) {
    const Place at = first_of_rows(lhs, FieldKind::sums);
    return b_.op(OpCode::load, {at.pointer}, {.offset = at.offset}, "sums_of_codes", Role::operand);
  }

  /// Moves the cursors of a long block to its end.
  std::vector<Value> sums(KState& block, std::vector<Value> carried, const KBody& step) {
    if (has_long_blocks(t_.v.rhs)) return k_of_block(t_, block, how_->group(), carried, step);
    for (int64_t g = 0; g < t_.v.rhs.block / how_->group(); ++g) {
      carried = step(block.lhs, block.rhs, std::move(carried), g);
    }
    return carried;
  }

  /// A block's sums of a vector of columns, scaled, into their total ...
  void add_columns(Value sum, Value scale, Value& total) {
    for (int64_t g = 0; g < groups_; ++g) {
      add(total, g, reals(sum, g), {scale, scale, scale, scale});
    }
  }

  /// ... where rows have scales, too. `at_once`: the sums leave their tile to the scales' product.
  void add_both(Value sum, Value row_scale, Value scale, bool at_once, Value& total) {
    std::vector<Four> all;
    for (int64_t g = 0; at_once && g < groups_; ++g) all.push_back(reals(sum, g));
    const Value product = b_.op(OpCode::outer_f32, {zero("p", 0), row_scale, scale, all_, all_}, {},
                                "scales", Role::accumulator);
    for (int64_t g = 0; g < groups_; ++g) {
      const Four a = at_once ? all[static_cast<size_t>(g)] : reals(sum, g);
      add(total, g, a, read(product, g));
    }
  }

  Place first_of_rows(const std::vector<Value>& lhs, FieldKind kind) {
    return {field_cursors(t_.v.lhs, lhs).front(), block_field(t_.v.lhs, kind)};
  }

  Value row_scales(const std::vector<Value>& lhs) {
    if (!scaled_rows_) return no_value;
    return rows_together(t_, first_of_rows(lhs, FieldKind::scales));
  }

  Value scale_of(const KState& block, int64_t vector) {
    const std::vector<Value> rhs = moved_beyond(t_, block.rhs, beyond_);
    return scales_of_block(t_, rhs, steps_, {vector, 1}).front();
  }

  /// Whether columns have something to add for every code of a row.
  [[nodiscard]] bool counts_codes() const { return has_minimums_ || has_zeros_; }

  /// What a row's codes are worth, if columns have something to add to all of them.
  Value worth_of_rows(const KState& block, Value row_scale) {
    if (has_offsets_) return rows_together(t_, first_of_rows(block.lhs, FieldKind::sums));
    if (!counts_codes()) return no_value;
    const Value codes = sums_of_codes(block.lhs);
    const Value real = b_.op(OpCode::cvt_i32_f32, {codes}, {}, "sums", Role::operand);
    return b_.op(OpCode::fmul, {real, row_scale}, {}, "sums", Role::operand);
  }

  /// What the columns have for all of a row's codes.
  Value worth_of_columns(const std::vector<Value>& rhs, int64_t vector, Value scale) {
    if (has_minimums_) return negated_minimums(t_, rhs, steps_, {vector, 1}).front();
    if (has_offsets_) return column_scale(t_, rhs, vector, FieldKind::offsets);
    const Value zero = column_scale(t_, rhs, vector, FieldKind::zero_points);
    return b_.op(OpCode::fmul, {zero, scale}, {}, "zero", Role::operand);
  }

  /// To a block's totals of a vector of columns, where its sums have been multiplied.
  void add_worth(KState& block, int64_t vector, Value worth, Value scale) {
    if (worth == no_value) return;
    const std::vector<Value> rhs = moved_beyond(t_, block.rhs, beyond_);
    Value& total = block.carried[static_cast<size_t>(vector)];
    const Value columns = worth_of_columns(rhs, vector, scale);
    total =
        b_.op(OpCode::outer_f32, {total, worth, columns, all_, all_}, {}, "f", Role::accumulator);
  }

  /// One block into the totals, which it carries.
  void add_block(KState& block) {
    const KState first = block;
    // The scales' product needs a tile: one whose sums have all become vectors, if these fit.
    const int64_t vectors = b_.isa().file_of(Kind::vector)->count();
    const bool at_once = !scaled_rows_ || 2 * 4 * groups_ <= vectors;
    std::vector<Value> sums;
    if (at_once) sums = all_sums(block);
    const bool at_end = !at_once && has_long_blocks(t_.v.rhs);  // which the sums lead to
    Value row_scale = at_end ? no_value : row_scales(block.lhs);
    Value worth = no_value;
    for (int64_t j = 0; j < t_.vectors(); ++j) {
      Value& total = block.carried[static_cast<size_t>(j)];
      if (at_end) {
        block.lhs = first.lhs;
        block.rhs = first.rhs;
      }
      const Value sum = at_once ? sums[static_cast<size_t>(j)] : sum_of(block, j);
      if (j == 0) {
        if (at_end) row_scale = row_scales(block.lhs);
        worth = worth_of_rows(block, row_scale);
      }
      const Value scale = scale_of(block, j);
      add_worth(block, j, worth, scale);
      scaled_rows_ ? add_both(sum, row_scale, scale, at_once, total)
                   : add_columns(sum, scale, total);
    }
  }

  /// The same, row by row of those that exist.
  void add_block_by_rows(KState& block) {
    const std::vector<Value> sums = all_sums(block);
    const Value worth = worth_of_rows(block, counts_codes() ? row_scales(block.lhs) : no_value);
    std::vector<Value> scales;
    for (int64_t j = 0; j < t_.vectors(); ++j) {
      scales.push_back(scale_of(block, j));
      add_worth(block, j, worth, scales.back());
    }
    std::vector<Value> inits = {b_.op(OpCode::constant, {}, {.imm = 0}, "row")};
    if (scaled_rows_) {
      const Place first = first_of_rows(block.lhs, FieldKind::scales);
      inits.push_back(b_.add(first.pointer, first.offset, "scale_rows"));
    }
    const size_t others = inits.size();
    inits.insert(inits.end(), block.carried.begin(), block.carried.end());
    const std::vector<Value> done = b_.loop("row", existing_, inits, [&](const auto& now) {
      std::vector<Value> next = {b_.add(now[0], 1, "row")};
      if (scaled_rows_) next.push_back(b_.add(now[1], has_half_scales(t_) ? 2 : 4, "scale_rows"));
      const Value by = scaled_rows_ ? splat_row(t_, {now[1], 0}, "scale_row") : no_value;
      for (size_t j = 0; j < sums.size(); ++j) {
        Value scale = scales[j];
        if (scaled_rows_) scale = b_.op(OpCode::fmul, {by, scale}, {}, "scale", Role::operand);
        const Value sum = b_.op(OpCode::tile_row, {sums[j], now[0]}, {}, "sum", Role::operand);
        const Value real = real_of_sum(t_, sum);
        const Value total = now[others + j];
        const Value old = b_.op(OpCode::tile_row, {total, now[0]}, {}, "f", Role::accumulator);
        const Value more = b_.op(OpCode::fma, {real, scale, old}, {}, "f", Role::accumulator);
        next.push_back(b_.op(OpCode::tile_put, {total, now[0], more}, {}, "f", Role::accumulator));
      }
      return next;
    });
    block.carried.assign(done.begin() + static_cast<std::ptrdiff_t>(others), done.end());
  }

  const Tile1& t_;
  Builder& b_;
  std::unique_ptr<TileMultiplier> how_;
  Value beyond_, steps_beyond_;
  bool scaled_rows_;  ///< of every block
  bool has_offsets_, has_minimums_, has_zeros_;
  int middle_;        ///< code, which is worth 0; 0: codes have signs, or minimums
  BlockSteps steps_;  ///< of the super-block at hand
  int64_t groups_ = 0;
  Value existing_ = no_value;  ///< rows
  Value all_ = no_value;
  Value middles_ = no_value, all_pairs_ = no_value;
  std::vector<Value> rows_;
};

}  // namespace

void lower_block_tiles(const Tile1& t) {
  const std::vector<Value> totals = BlockTiles(t).multiply();
  store_tile_sums(t, [&](int64_t, int64_t j, Value row, Value) {
    return t.b.op(OpCode::tile_row, {totals[static_cast<size_t>(j)], row}, {},
                  fmt::format("f_{}", j), Role::accumulator);
  });
}

}  // namespace tw
