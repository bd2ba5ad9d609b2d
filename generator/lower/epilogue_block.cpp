// Formats with a scale per block of k: one block's exact integer sums are converted and scaled into
// f32 accumulators before the next block begins. Activations have scales per block of their own:
//   f += (float(sum a q) * scale_a) * scale_w                  out = clamp(f + bias)
// or one scale and zero point per row:
//   f += float(sum a q) * scale_w
//   out = clamp((f + float(negated_zero_point) * sum(scale_w * sum q)) * scale_a + bias)
// where every "+" of a product is one fma. Columns with a zero point for every block have
//   float(sum a q) - zero point * float(sum a)
// in the place of float(sum a q). Columns with a minimum for every block, which the lowest code is
// worth, `half` below code 0, have
//   f += (float(sum a q) * scale_w + (minimum + half * scale_w) * float(sum a)) * scale_a
// Columns with an offset for every block, which code 0 is worth, and rows that keep what their
// codes are worth together, have
//   f += sum_a * offset + float(sum a q) * (scale_a * scale_w)
#include <fmt/format.h>

#include <algorithm>

#include "lower/block_scales.h"
#include "lower/block_totals.h"
#include "lower/lower.h"
#include "lower/splat.h"
#include "lower/widen.h"
#include "model/operand_contract.h"

namespace tw {

bool is_behind_codes(const Layout& layout, FieldKind kind) {
  return has_long_blocks(layout) && !has_fields_apart(layout) &&
         field_index(layout, kind) > field_index(layout, FieldKind::data);
}

Length block_field(const Layout& layout, FieldKind kind) {
  const Length at = field_offset(layout, kind) - steps_bytes(layout);
  if (!is_behind_codes(layout, kind)) return at;
  return at - codes_in_block(layout) - data_bytes(layout, layout.block);
}

Value column_scale(const Tile1& t, const std::vector<Value>& rhs, int64_t vector, FieldKind kind) {
  const ElementType type = field_of(*t.rhs.layout, kind).type;
  const Value cursor = field_cursors(*t.rhs.layout, rhs)[static_cast<size_t>(vector / t.rhs.rows)];
  const Length bytes = (t.b.isa().vector_bytes * bits(type)).divided(32);
  const Length at = block_field(*t.rhs.layout, kind) + bytes * (vector % t.rhs.rows);
  const std::string name = fmt::format("{}_{}",
                                       kind == FieldKind::scales     ? "scale"
                                       : kind == FieldKind::minimums ? "minimum"
                                       : kind == FieldKind::offsets  ? "offset"
                                                                     : "zero",
                                       vector);
  if (type == ElementType::f32) {
    return t.b.op(OpCode::load, {cursor}, {.offset = at}, name, Role::operand);
  }
  const Value packed =
      t.b.op(OpCode::load, {cursor}, {.offset = at, .bytes = bytes}, "scale", Role::operand);
  const Value wide = widened(t.b, packed, type, name, Role::operand);
  if (type != ElementType::i8) return wide;
  return t.b.op(OpCode::cvt_i32_f32, {wide}, {}, name, Role::operand);
}

std::vector<Value> moved_beyond(const Tile1& t, std::vector<Value> cursors, Value beyond) {
  if (beyond == no_value) return cursors;
  cursors[0] = t.b.op(OpCode::iadd, {cursors[0], beyond}, {}, "scales", Role::address);
  return cursors;
}

/// Which of 16 bytes stand on top of the lanes of a vector, for vectors of four each: so a look-up
/// and a conversion that divides make f32 of numbers of 8 bits. None where an ISA cannot.
static std::vector<Value> number_places(const Tile1& t) {
  const Isa& isa = t.b.isa();
  const bool can = isa.has(OpCode::look_up_or_zero) && isa.has(OpCode::cvt_fixed_f32);
  if (!can || isa.vector_bytes != Length{16} || t.vectors() == 1) return {};
  const auto all_lanes = [&](int64_t place) {
    constexpr uint32_t nowhere = 0x00ffffff;
    return splat32(t.b, nowhere | static_cast<uint32_t>(place) << 24, "place");
  };
  const auto join = [&](Value a, Value b) {
    return t.b.op(OpCode::zip_lo, {a, b}, {.bits = 32}, "places", Role::mask);
  };
  std::vector<Value> places;
  for (int64_t v = 0; v < std::min<int64_t>(segment_lanes, t.rhs.rows); ++v) {
    const auto pair = [&](int64_t place) {
      const Value second = all_lanes(place + 2);
      return join(all_lanes(place), second);
    };
    const int64_t first = v * segment_lanes;
    const Value odd = pair(first + 1);
    places.push_back(join(pair(first), odd));
  }
  return places;
}

/// Bytes of all the tile's columns as f32, 16 of which are loaded together.
static std::vector<Value> number_columns(const Tile1& t, const std::vector<Value>& rhs,
                                         FieldKind kind) {
  const std::vector<Value> cursors = field_cursors(*t.rhs.layout, rhs);
  std::vector<Value> vectors;
  Value bytes = no_value;
  for (int64_t j = 0; j < t.vectors(); ++j) {
    const int64_t in_panel = j % t.rhs.rows;
    if (in_panel % segment_lanes == 0) {
      const Length at = block_field(*t.rhs.layout, kind) + segment_lanes * in_panel;
      bytes = t.b.op(OpCode::load, {cursors[static_cast<size_t>(j / t.rhs.rows)]}, {.offset = at},
                     "numbers", Role::operand);
    }
    const Value place = t.places[static_cast<size_t>(in_panel % segment_lanes)];
    const Value top = t.b.op(OpCode::look_up_or_zero, {bytes, place}, {}, "number", Role::operand);
    vectors.push_back(t.b.op(OpCode::cvt_fixed_f32, {top}, {.imm = 24}, "number", Role::operand));
  }
  return vectors;
}

std::vector<Value> block_columns(const Tile1& t, const std::vector<Value>& rhs, FieldKind kind,
                                 Columns columns) {
  const bool are_numbers = field_of(*t.rhs.layout, kind).type == ElementType::i8;
  if (are_numbers && !t.places.empty()) return number_columns(t, rhs, kind);
  if (columns.count == 0) columns.count = t.vectors();
  std::vector<Value> vectors;
  for (int64_t j = columns.first; j < columns.first + columns.count; ++j) {
    vectors.push_back(column_scale(t, rhs, j, kind));
  }
  return vectors;
}

std::vector<Value> ends_of_codes(const Tile1& t, std::vector<Value> cursors, const Layout& layout) {
  const Value all = code_bytes(t, layout, t.b.arg(ArgField::block));
  for (Value& cursor : cursors) {
    cursor = t.b.op(OpCode::iadd, {cursor, all}, {}, "end", Role::address);
    cursor = t.b.add(cursor, codes_in_block(layout));
  }
  return cursors;
}

Value count_blocks(const Tile1& t, const std::string& name) {
  if (t.blocks != no_value) return t.blocks;
  return quotient(t.b, t.padded, t.v.rhs.block, name);
}

Value count_super_blocks(const Tile1& t) {
  return quotient(t.b, t.padded, t.v.rhs.super_block, "super_blocks");
}

Value count_whole_blocks(const Tile1& t) {
  return has_steps(t.v.rhs) ? count_super_blocks(t) : count_blocks(t);
}

namespace {

/// Zero points, or what minimums are multiples of, times what the multiplier wants.
std::vector<Value> times_factors(const Tile1& t, Multiplier& multiplier,
                                 std::vector<Value> vectors) {
  const std::vector<Value> factors = multiplier.zero_factors(t, 1);
  for (size_t j = 0; j < vectors.size(); ++j) {
    vectors[j] = factors[j] == no_value
                     ? t.b.op(OpCode::fadd, {vectors[j], vectors[j]}, {}, "zeros", Role::operand)
                     : t.b.op(OpCode::fmul, {vectors[j], factors[j]}, {}, "zeros", Role::operand);
  }
  return vectors;
}

/// From cursors at a super-block's first block, before which they stand. Those of minimums times
/// what the multiplier wants.
BlockSteps load_steps(const Tile1& t, Multiplier& multiplier, const std::vector<Value>& rhs) {
  BlockSteps steps = load_steps(t, rhs);
  const bool raw = !steps.minimums.empty() && has_raw_blocks(t.v);
  if (raw) steps.minimums = times_factors(t, multiplier, steps.minimums);
  return steps;
}

/// A row's value in the current block. Of fields behind the codes of long ones: from their end.
Place in_block(const Tile1& t, const std::vector<Value>& lhs, int64_t row, FieldKind kind) {
  Place at = lhs_row(t, field_cursors(*t.lhs.layout, lhs), row, kind);
  at.offset += block_field(*t.lhs.layout, kind);
  return at;
}

/// Likewise of all rows.
std::vector<Place> all_in_block(const Tile1& t, const std::vector<Value>& lhs, FieldKind kind) {
  std::vector<Place> places;
  for (int64_t r = 0; r < t.v.tile.m.fixed; ++r) places.push_back(in_block(t, lhs, r, kind));
  return places;
}

/// Accumulators before a block.
std::vector<Value> start_block(const Tile1& t, Multiplier& multiplier,
                               const std::vector<Value>& lhs) {
  std::vector<Start> starts;
  if (start_factor(t.v) != 0) {
    for (const Place& at : all_in_block(t, lhs, FieldKind::sums)) starts.push_back({at});
  }
  return multiplier.start(t, starts);
}

/// Minus what is worth a code that is multiplied as 0, of all the tile's columns, times what the
/// multiplier wants.
std::vector<Value> negated_middles(const Tile1& t, Multiplier& multiplier,
                                   const std::vector<Value>& rhs, const std::vector<Value>& scales,
                                   const BlockSteps& steps) {
  const int code = code_of_zero(contract_of(t.v), *t.v.family.rhs);
  if (code == 0) return negated_minimums(t, rhs, steps);
  const bool are_plain = steps.minimums.empty() && !has_raw_blocks(t.v);
  const std::vector<Value> codes = multiplier.zero_factors(t, -static_cast<float>(code));
  const std::vector<Value> units = are_plain                ? std::vector<Value>{}
                                   : steps.minimums.empty() ? multiplier.zero_factors(t, -1)
                                                            : steps.minimums;
  std::vector<Value> middles = block_columns(t, rhs, FieldKind::minimums);
  for (size_t j = 0; j < middles.size(); ++j) {
    const Value half = t.b.op(OpCode::fmul, {scales[j], codes[j]}, {}, "half", Role::operand);
    middles[j] =
        are_plain ? t.b.op(OpCode::fsub, {half, middles[j]}, {}, "middle", Role::operand)
                  : t.b.op(OpCode::fma, {middles[j], units[j], half}, {}, "middle", Role::operand);
  }
  return middles;
}

RowValues negated_sums(const Tile1& t, Multiplier& multiplier, const std::vector<Value>& sums,
                       const Totals& totals) {
  const auto make = [&](const auto& rows) { return multiplier.negated_sums(t, rows); };
  return {all_in_block(t, sums, FieldKind::sums), make, totals};
}

RowValues row_scales(const Tile1& t, Multiplier& multiplier, const std::vector<Value>& lhs,
                     const Totals& totals) {
  const auto make = [&](const auto& rows) { return multiplier.row_scales(t, rows); };
  return {all_in_block(t, lhs, FieldKind::scales), make, totals};
}

/// One block's sums of all rows and columns into the f32 accumulators, with minimums: they are
/// scaled by columns first. Arguments as of add_block().
std::vector<Value> add_block_above_minimums(const Tile1& t, Multiplier& multiplier,
                                            const KState& at, const std::vector<Value>& sums,
                                            const std::vector<Value>& acc,
                                            const BlockSteps& steps) {
  const std::vector<Value> scales = scales_of_block(t, at.rhs, steps);
  const std::vector<Value> columns = multiplier.column_scales(t, scales);
  const std::vector<Value> middles =
      multiplier.column_scales(t, negated_middles(t, multiplier, at.rhs, scales, steps));
  const std::vector<Value> reals = multiplier.reals(t, acc);
  Totals totals(t, multiplier.totals(), at.carried);
  RowValues negated = negated_sums(t, multiplier, sums, totals);
  RowValues rows = row_scales(t, multiplier, at.lhs, totals);
  for (size_t i = 0; i < totals.count(); ++i) {
    const Value codes = t.b.op(OpCode::fmul, {reals[i], columns[i]}, {}, "real", Role::operand);
    const Value real =
        t.b.op(OpCode::fma, {negated[i], middles[i], codes}, {}, "real", Role::operand);
    totals.add(i, real, rows[i]);
  }
  return totals.carried();
}

/// The same with offsets, which are added before the sums.
std::vector<Value> add_block_and_offsets(const Tile1& t, Multiplier& multiplier, const KState& at,
                                         const std::vector<Value>& sums,
                                         const std::vector<Value>& acc) {
  const auto columns = [&](FieldKind kind) {
    return multiplier.column_scales(t, block_columns(t, at.rhs, kind));
  };
  const auto rows = [&](const std::vector<Value>& lhs, FieldKind kind) {
    return multiplier.row_scales(t, all_in_block(t, lhs, kind));
  };
  Totals totals(t, multiplier.totals(), at.carried);
  const auto add = [&](const std::vector<Value>& a, const std::vector<Value>& b) {
    for (size_t i = 0; i < totals.count(); ++i) totals.add(i, a[i], b[i]);
  };
  const std::vector<Value> of_sums = rows(sums, FieldKind::sums);
  add(columns(FieldKind::offsets), of_sums);
  std::vector<Value> scales = columns(FieldKind::scales);
  const std::vector<Value> of_rows = rows(at.lhs, FieldKind::scales);
  for (size_t i = 0; i < scales.size(); ++i) {
    scales[i] = t.b.op(OpCode::fmul, {scales[i], of_rows[i]}, {}, "scale", Role::operand);
  }
  add(multiplier.reals(t, acc), scales);
  return totals.carried();
}

/// Whether the scales of a panel's rows become lanes of every segment: a vector of halves, most of
/// which are codes, ends within the panel's block, however long it is.
bool has_lane_scales(const Tile1& t) {
  constexpr int64_t longest = 256;
  const Isa& isa = t.b.isa();
  const Layout& layout = *t.lhs.layout;
  const bool before_codes = has_half_scales(t) && !has_fields_apart(layout);
  if (isa.vector_bytes.is_fixed() || !before_codes) return false;
  const int64_t codes = segment_lanes * layout.block;
  return t.lhs.rows % segment_lanes == 0 && codes >= longest / 2 && isa.has(OpCode::fmul_lane) &&
         isa.has(OpCode::dup_lane, 128);
}

/// Sums, rows of vectors, times their rows' scales.
void times_lanes(const Tile1& t, const std::vector<Place>& rows, std::vector<Value>& reals) {
  Value lanes = no_value;
  for (size_t i = 0; i < reals.size(); ++i) {
    const size_t row = i / static_cast<size_t>(t.vectors());
    const int64_t lane = static_cast<int64_t>(row) % segment_lanes;
    if (lane == 0 && i % static_cast<size_t>(t.vectors()) == 0) {
      lanes = t.b.op(OpCode::dup_lane, {rows_together(t, rows[row])}, {.bits = 128}, "scale_rows",
                     Role::operand);
    }
    reals[i] = t.b.op(OpCode::fmul_lane, {reals[i], lanes}, {.imm = lane}, "real", Role::operand);
  }
}

/// One block's sums of all rows and columns into the f32 accumulators. `at.rhs`: as column_scale()
/// wants it; `sums`: cursors of start_block(); `steps`: none without super-blocks.
std::vector<Value> add_block(const Tile1& t, Multiplier& multiplier, const KState& at,
                             const std::vector<Value>& sums, const std::vector<Value>& acc,
                             const BlockSteps& steps) {
  if (field_index(*t.rhs.layout, FieldKind::minimums) >= 0) {
    return add_block_above_minimums(t, multiplier, at, sums, acc, steps);
  }
  if (field_index(*t.rhs.layout, FieldKind::offsets) >= 0) {
    return add_block_and_offsets(t, multiplier, at, sums, acc);
  }
  const std::vector<Value> columns = multiplier.column_scales(t, scales_of_block(t, at.rhs, steps));
  std::vector<Value> reals = multiplier.reals(t, acc);
  Totals totals(t, multiplier.totals(), at.carried);
  if (field_index(*t.rhs.layout, FieldKind::zero_points) >= 0) {
    std::vector<Value> of_columns = block_columns(t, at.rhs, FieldKind::zero_points);
    if (has_raw_blocks(t.v)) of_columns = times_factors(t, multiplier, std::move(of_columns));
    const std::vector<Value> zeros = multiplier.column_scales(t, of_columns);
    RowValues rows = negated_sums(t, multiplier, sums, totals);
    for (size_t i = 0; i < reals.size(); ++i) {
      reals[i] = t.b.op(OpCode::fma, {rows[i], zeros[i], reals[i]}, {}, "real", Role::operand);
    }
  }
  if (has_lane_scales(t)) {
    times_lanes(t, all_in_block(t, at.lhs, FieldKind::scales), reals);
  } else if (field_of(*t.lhs.layout, FieldKind::scales).per_block) {
    RowValues rows = row_scales(t, multiplier, at.lhs, totals);
    for (size_t i = 0; i < reals.size(); ++i) {
      reals[i] = t.b.op(OpCode::fmul, {reals[i], rows[i]}, {}, "real", Role::operand);
    }
  }
  for (size_t i = 0; i < totals.count(); ++i) totals.add(i, reals[i], columns[i]);
  return totals.carried();
}

/// Adds the blocks of a tile's panels, one after the other.
class BlockAdder {
 public:
  BlockAdder(const Tile1& t, Multiplier& multiplier)
      : t_(with_places(t)),
        multiplier_(multiplier),
        beyond_(beyond_codes(t, t.rhs, FieldKind::scales)),
        rows_beyond_(t.lhs.sub == no_value ? no_value : beyond_codes(t, t.lhs, FieldKind::scales)),
        steps_beyond_(has_steps(t.v.rhs) ? beyond_codes(t, t.rhs, FieldKind::scale_steps)
                                         : no_value) {}

  /// All of k.
  std::vector<Value> add() {
    const Totals totals(t_, multiplier_.totals(),
                        blocks({block_cursors(t_, t_.lhs), block_cursors(t_, t_.rhs),
                                Totals::begin(t_, multiplier_.totals())}));
    std::vector<Value> all;
    for (size_t i = 0; i < totals.count(); ++i) all.push_back(totals[i]);
    return all;
  }

 private:
  std::vector<Value> blocks(const KState& state) {
    if (!has_long_blocks(t_.v.rhs)) return all_short_blocks(state);
    return block_loop(t_, t_.blocks, state, [&](KState& block) { return long_block(block); })
        .carried;
  }

  void step(const std::vector<Value>& lhs, const std::vector<Value>& rhs, int64_t g,
            std::vector<Value>& acc) {
    multiplier_.step(t_, code_cursors(t_.v.lhs, lhs), code_cursors(t_.v.rhs, rhs), g, acc);
  }

  /// Steps of super-blocks' scales stay in registers if totals do.
  std::vector<Value> all_short_blocks(const KState& state) {
    const int64_t groups = t_.v.rhs.block / multiplier_.group();
    const bool often = multiplier_.totals().memory.pointer != no_value;
    std::vector<Value> at, acc;
    BlockSteps steps;
    const auto load = [&] { steps = load_steps(t_, multiplier_, at); };
    const auto begin = [&](KState& super) {
      for (Value& cursor : super.rhs) cursor = t_.b.add(cursor, steps_bytes(t_.v.rhs));
      at = moved_beyond(t_, super.rhs, steps_beyond_);
      if (!often) load();
    };
    const auto body = [&](const auto& lhs, const auto& rhs, std::vector<Value> totals, int64_t g) {
      if (g == 0) acc = start_block(t_, multiplier_, lhs);
      step(lhs, rhs, g, acc);
      if (g + 1 < groups) return totals;
      if (often && has_steps(t_.v.rhs)) load();
      return scaled({lhs, rhs, std::move(totals)}, lhs, acc, steps);
    };
    return short_blocks(t_, count_whole_blocks(t_), state, groups, begin, body).carried;
  }

  std::vector<Value> long_block(KState& block) {
    const bool from_end = is_behind_codes(t_.v.lhs, FieldKind::sums);
    const std::vector<Value> sums =
        from_end && start_factor(t_.v) != 0 ? ends_of_codes(t_, block.lhs, t_.v.lhs) : block.lhs;
    const auto multiply = [&](const auto& lhs, const auto& rhs, std::vector<Value> acc, int64_t g) {
      step(lhs, rhs, g, acc);
      return acc;
    };
    const std::vector<Value> acc =
        k_of_block(t_, block, multiplier_.group(), start_block(t_, multiplier_, sums), multiply);
    return scaled(block, from_end ? block.lhs : sums, acc, {});
  }

  std::vector<Value> scaled(KState at, const std::vector<Value>& sums,
                            const std::vector<Value>& acc, const BlockSteps& steps) {
    at.rhs = moved_beyond(t_, std::move(at.rhs), beyond_);
    at.lhs = moved_beyond(t_, std::move(at.lhs), rows_beyond_);
    return add_block(t_, multiplier_, at, sums, acc, steps);
  }

  static Tile1 with_places(Tile1 t) {
    if (has_steps(t.v.rhs)) t.places = number_places(t);
    return t;
  }

  Tile1 t_;
  Multiplier& multiplier_;
  Value beyond_, rows_beyond_, steps_beyond_;
};

}  // namespace

TotalsRoom make_totals_room(const Tile1& t, int64_t bytes_before) {
  if (!t.totals_in_registers) return {};
  const int64_t kept = *t.totals_in_registers;
  const int64_t bytes = (movable_totals(t.v) - kept) * t.b.isa().vector_bytes.fixed;
  return {{t.b.scratch(bytes_before + bytes), bytes_before}, static_cast<size_t>(kept)};
}

Rows block_sums(const Tile1& t, Multiplier& multiplier) {
  multiplier.prepare(t);
  std::vector<Value> totals = BlockAdder(t, multiplier).add();
  if (keeps_factor(t)) totals = without_factor(t, std::move(totals), 1);
  return multiplier.arrange(t, totals);
}

}  // namespace tw
