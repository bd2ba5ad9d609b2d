// What techniques share: loading packed codes, and undoing what multiplying them raw brought in.
#include <fmt/format.h>

#include <bit>
#include <cstdlib>

#include "lower/splat.h"
#include "lower/tile.h"
#include "lower/widen.h"
#include "model/operand_contract.h"
#include "model/reject.h"

namespace tw {

/// Of a load of one vector.
static void prefetch_beside(const Tile1& t, Value cursor, Length offset) {
  if (t.beside == nullptr || t.beside->count(cursor) == 0) return;
  if (offset.fixed % cache_line != 0) return;  // another load has begun the line
  t.b.op(OpCode::prefetch_near, {t.beside->at(cursor)}, {.offset = offset});
}

/// Of packed codes of a group of k.
static int64_t vectors_in_panel(const Tile1& t) {
  const Layout& layout = *t.rhs.layout;
  const int64_t bits_of_column = bits(layout.element) * layout.order.kr * depth_codes(layout);
  return ratio((layout.panel * bits_of_column).divided(8), t.b.isa().vector_bytes);
}

/// That of the panel which has the vector.
static Value cursor_of(const Tile1& t, const std::vector<Value>& rhs, int64_t vector) {
  return rhs[static_cast<size_t>(vector / vectors_in_panel(t))];
}

Value load_codes(const Tile1& t, const std::vector<Value>& rhs, int64_t vector, int64_t k,
                 const char* name) {
  const Value cursor = cursor_of(t, rhs, vector);
  const Length offset =
      code_offset(*t.rhs.layout, 0, k) + t.b.isa().vector_bytes * (vector % vectors_in_panel(t));
  prefetch_beside(t, cursor, offset);
  return t.b.op(OpCode::load, {cursor}, {.offset = offset}, fmt::format("{}_{}", name, vector),
                Role::operand);
}

Decoder::Decoder(const Variant& v)
    : bits_(8 / static_cast<int>(depth_codes(v.rhs))),
      signed_(!v.rhs.order.low_unsigned),
      top_bits_(top_bits(v.rhs)),
      inserts_both_(inserts_both(v)),
      table_(bits_ == 8 ? nullptr : v.rhs.table),
      offset_(table_ != nullptr ? -start_factor(v) : 0) {}

void Decoder::prepare(const Tile1& t) {
  if (bits_ == 8) return;
  if (table_ != nullptr) prepare_table(t);
  const uint32_t tops = 0x01010101U * ((1U << top_bits_) - 1);
  if (inserts_both_) {
    top_mask_ = splat32(t.b, tops | tops << 4, "top_mask", Role::mask);
    return;
  }
  if (inserts(t)) {
    mask_ = splat32(t.b, tops, "mask", Role::mask);
    top_mask_ = splat32(t.b, tops << bits_, "top_mask", Role::mask);
    return;
  }
  const uint32_t low = 0x01010101U * ((1U << bits_) - 1);
  mask_ = splat32(t.b, signed_ ? ~low : low, "mask", Role::mask);
  if (!signed_ && t.b.isa().has(OpCode::bit_matrix)) prepare_takers(t);
  if (top_bits_ != 0) top_mask_ = splat32(t.b, tops << bits_, "top_mask", Role::mask);
}

/// Bit b of code i is bit i * bits_ + b of its byte: the one of byte 7 - b. Codes have 4 bits at
/// most, so that the first 4 bytes are zero.
void Decoder::prepare_takers(const Tile1& t) {
  const Value zero = t.b.op(OpCode::zero, {}, {}, "zero");
  for (int i = 1; i < operands(); ++i) {
    uint32_t last = 0;
    for (int b = 0; b < bits_; ++b) last |= 1U << (8 * (3 - b) + i * bits_ + b);
    const Value lanes = splat32(t.b, last, "taker");
    takers_.push_back(t.b.op(OpCode::zip_lo, {zero, lanes}, {.bits = 32}, "taker", Role::mask));
  }
}

/// Given ones are i32, of whose bytes every fourth is one.
void Decoder::prepare_table(const Tile1& t) {
  if (table_->given) {
    const Value lookup = t.b.arg(ArgField::lookup);
    const Value words = t.b.op(OpCode::load, {lookup}, {}, "values", Role::mask);
    const Value fourths = splat32(t.b, 0x0c080400U, "fourths", Role::mask);
    values_ = {t.b.op(OpCode::look_up, {words, fourths}, {}, "values", Role::mask)};
    return;
  }
  std::array<uint8_t, 16> bytes{};
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(table_->values[i] + offset_);
  }
  values_ = splat_table(t.b, bytes, "values");
  if (t.b.isa().has(OpCode::look_up)) values_ = {join_table(t.b, values_, "values")};
}

/// What a code stands for: itself, where there is no table.
Value Decoder::value_of(const Tile1& t, Value code, int64_t vector) const {
  if (table_ == nullptr) return code;
  const std::string name = fmt::format("value_{}", vector);
  if (values_.size() == 1) {
    return t.b.op(OpCode::look_up, {values_[0], code}, {}, name, Role::operand);
  }
  return t.b.op(OpCode::look_up_lanes, {values_[0], values_[1], values_[2], values_[3], code}, {},
                name, Role::operand);
}

std::vector<Value> Decoder::load(const Tile1& t, const std::vector<Value>& rhs, int64_t vector,
                                 int64_t k) const {
  Packed packed = load_packed(t, rhs, vector, k);
  if (inserts_both_) return with_tops(t, packed);
  if (inserts(t)) {
    std::vector<Value> all(static_cast<size_t>(operands()));
    // The first one takes the place of what it is loaded from.
    for (size_t i = all.size(); i-- > 0;) all[i] = inserted(t, packed, static_cast<int64_t>(i));
    return all;
  }
  std::vector<Value> codes = (*this)(t, packed.raw, vector);
  for (size_t i = 0; i < codes.size(); ++i) {
    codes[i] = finished(t, packed, static_cast<int64_t>(i), codes[i]);
  }
  return codes;
}

Decoder::Packed Decoder::load_packed(const Tile1& t, const std::vector<Value>& rhs, int64_t vector,
                                     int64_t k) {
  return {load_codes(t, rhs, vector, k), cursor_of(t, rhs, vector), vector, k, {}};
}

Value Decoder::operand(const Tile1& t, Packed& packed, int64_t i) const {
  if (inserts(t)) return inserted(t, packed, i);
  return finished(t, packed, i, low_code(t, packed.raw, packed.vector, static_cast<int>(i)));
}

/// With its tops, or the value that it stands for.
Value Decoder::finished(const Tile1& t, Packed& packed, int64_t i, Value code) const {
  if (top_bits_ == 0) return value_of(t, code, packed.vector);
  const int64_t k = packed.k + i * t.rhs.layout->order.distance;
  const TopsAt at = tops_at(t, packed.vector, k);
  const Value top = top_of(t, at, packed);
  const std::string name = fmt::format("code_{}", packed.vector);
  const Value whole = t.b.op(OpCode::or_, {code, top}, {}, name, Role::operand);
  return value_of(t, whole, packed.vector);
}

/// Those of codes from value k of a block on.
Decoder::TopsAt Decoder::tops_at(const Tile1& t, int64_t vector, int64_t k) const {
  const Layout& layout = *t.rhs.layout;
  const auto [groups, vectors] = top_order(layout);
  if (vectors > 1 && t.rhs.sub != no_value) {
    reject("where tops of several vectors share bytes a tile has the columns of whole panels");
  }
  const int64_t all = vectors_in_panel(t);
  const int64_t in_panel = vector % all;
  const int64_t group = k / layout.order.kr;
  const int64_t together = all / vectors;
  if (together * vectors != all) {
    reject("panels of {} vectors are not possible where tops of {} share bytes", all, vectors);
  }
  const int64_t number = group / groups * together + in_panel % together;
  const int64_t digit = group % groups + groups * (in_panel / together);
  return {number, digit * top_bits_};
}

/// The vector of them. Not kept for the groups that follow: registers are scarce where loads are
/// not.
Value Decoder::load_tops(const Tile1& t, const TopsAt& at, Packed& packed) {
  TopsAt& loaded = packed.tops;
  if (loaded.tops != no_value && loaded.vector == at.vector) return loaded.tops;
  const Length offset =
      block_field(*t.rhs.layout, FieldKind::tops) + t.b.isa().vector_bytes * at.vector;
  prefetch_beside(t, packed.cursor, offset);
  loaded = at;
  loaded.tops = t.b.op(OpCode::load, {packed.cursor}, {.offset = offset}, "tops", Role::operand);
  return loaded.tops;
}

/// Moved to above the bits of a code.
Value Decoder::top_of(const Tile1& t, const TopsAt& at, Packed& packed) const {
  const int64_t left = bits_ - at.bit;
  const int lane = t.b.isa().has(OpCode::shl, 8) && t.b.isa().has(OpCode::shr, 8) ? 8 : 32;
  Value moved = load_tops(t, at, packed);
  if (left != 0) {
    moved = t.b.op(left > 0 ? OpCode::shl : OpCode::shr, {moved},
                   {.bits = lane, .imm = std::abs(left)}, "tops", Role::operand);
  }
  return t.b.op(OpCode::and_, {moved, top_mask_}, {}, "tops", Role::operand);
}

std::vector<Value> Decoder::operator()(const Tile1& t, Value raw, int64_t vector) const {
  if (bits_ == 8) return {raw};
  if (signed_) return high_nibbles(t, raw, vector);
  std::vector<Value> codes;
  for (int i = 0; i < operands(); ++i) codes.push_back(low_code(t, raw, vector, i));
  return codes;
}

/// Both codes as high nibbles: signed bytes without an instruction that extends signs.
std::vector<Value> Decoder::high_nibbles(const Tile1& t, Value raw, int64_t vector) const {
  const std::string name = std::to_string(vector);
  const Value low = t.b.op(OpCode::shl, {raw}, {.bits = 8, .imm = 4}, "lo_" + name, Role::operand);
  const Value high = t.b.op(OpCode::and_, {raw, mask_}, {}, "hi_" + name, Role::operand);
  return {low, high};
}

/// That of number i in a byte.
Value Decoder::low_code(const Tile1& t, Value raw, int64_t vector, int i) const {
  if (i == 0) {
    return t.b.op(OpCode::and_, {raw, mask_}, {}, fmt::format("lo_{}", vector), Role::operand);
  }
  if (!takers_.empty()) {
    return t.b.op(OpCode::bit_matrix, {raw, takers_[static_cast<size_t>(i) - 1]}, {},
                  fmt::format("code_{}_{}", i, vector), Role::operand);
  }
  const bool by_bytes = t.b.isa().has(OpCode::shr, 8);
  const int lane = by_bytes ? 8 : t.b.isa().has(OpCode::shr, 16) ? 16 : 32;
  const bool is_last = i + 1 == operands();
  const std::string name = fmt::format("{}_{}", is_last ? "hi" : "mid", vector);
  const Value code =
      t.b.op(OpCode::shr, {raw}, {.bits = lane, .imm = i * bits_}, name, Role::operand);
  const bool is_alone = by_bytes && is_last;
  return is_alone ? code : t.b.op(OpCode::and_, {code, mask_}, {}, name, Role::operand);
}

Value load_activation(const Tile1& t, const std::vector<Value>& lhs, int64_t row, int64_t k,
                      int bits) {
  const Value cursor = lhs[static_cast<size_t>(row / t.lhs.rows)];
  return t.b.op(OpCode::load_dup, {cursor},
                {.bits = bits, .offset = code_offset(*t.lhs.layout, row % t.lhs.rows, k)},
                fmt::format("a_{}", row), Role::operand);
}

Value start_of(const Tile1& t, const Start& start, const std::string& name) {
  if (start.negated != no_value) {
    return t.b.op(OpCode::sub, {start.zero, start.negated}, {.bits = 32}, name, Role::accumulator);
  }
  return t.b.op(OpCode::load_dup, {start.place.pointer}, {.bits = 32, .offset = start.place.offset},
                name, Role::accumulator);
}

Value negated_start(const Tile1& t, const Place& sum) {
  const int factor = start_factor(t.v);
  const int shift = std::countr_zero(static_cast<unsigned>(-factor));
  const Value loaded = load_dup32(t, sum, "sum_of_codes");
  return t.b.op(OpCode::shl, {loaded}, {.bits = 32, .imm = shift}, "sum_of_codes", Role::operand);
}

Value negated_codes(const Tile1& t, const Place& sum) {
  const int factor = field_of(*t.lhs.layout, FieldKind::sums).factor;
  const Value kept = load_dup32(t, sum, "sum_of_codes");
  if (factor > 0) {
    const Value zero = t.b.op(OpCode::zero, {}, {}, "zero", Role::operand);
    return t.b.op(OpCode::sub, {zero, kept}, {.bits = 32}, "sum_of_codes", Role::operand);
  }
  return codes_of_sum(t, kept);
}

Value codes_of_sum(const Tile1& t, Value kept) {
  const int factor = field_of(*t.lhs.layout, FieldKind::sums).factor;
  if (factor == -1) return kept;
  const int shift = std::countr_zero(static_cast<unsigned>(-factor));
  return t.b.op(OpCode::sar, {kept}, {.bits = 32, .imm = shift}, "sum_of_codes", Role::operand);
}

std::vector<Value> add_sets(const Tile1& t, std::vector<Value> all, size_t sets) {
  const bool floats = is_float(*t.v.family.lhs);
  for (size_t half = sets / 2; half >= 1; half /= 2) {
    const size_t count = all.size() / 2;
    std::vector<Value> sum;
    for (size_t i = 0; i < count; ++i) {
      const std::string name = fmt::format("sum_{}", i);
      const std::initializer_list<Value> both = {all[i], all[i + count]};
      sum.push_back(floats ? t.b.op(OpCode::fadd, both, {}, name, Role::accumulator)
                           : t.b.op(OpCode::add, both, {.bits = 32}, name, Role::accumulator));
    }
    all = std::move(sum);
  }
  return all;
}

Rows by_rows(const std::vector<Value>& vectors, int64_t rows) {
  const size_t each = vectors.size() / static_cast<size_t>(rows);
  Rows all;
  for (auto at = vectors.begin(); at != vectors.end(); at += static_cast<ptrdiff_t>(each)) {
    all.emplace_back(at, at + static_cast<ptrdiff_t>(each));
  }
  return all;
}

Value high_sum(const Tile1& t, Value high, Value low) {
  const Value times16 = t.b.op(OpCode::sub, {high, low}, {.bits = 32}, "high", Role::accumulator);
  return t.b.op(OpCode::sar, {times16}, {.bits = 32, .imm = 4}, "high", Role::accumulator);
}

std::vector<Value> Multiplier::reals(const Tile1& t, const std::vector<Value>& accumulators) {
  std::vector<Value> all;
  for (const std::vector<Value>& row : finish(t, accumulators)) {
    for (const Value sum : row) {
      all.push_back(real_of_sum(t, sum));
    }
  }
  return all;
}

std::vector<Value> Multiplier::column_scales(const Tile1& t, const std::vector<Value>& scales) {
  std::vector<Value> all;
  for (int64_t r = 0; r < t.v.tile.m.fixed; ++r)
    all.insert(all.end(), scales.begin(), scales.end());
  return all;
}

bool has_half_scales(const Tile1& t) {
  return field_of(*t.lhs.layout, FieldKind::scales).type == ElementType::f16;
}

Value rows_together(const Tile1& t, const Place& first) {
  const bool halves = has_half_scales(t);
  return load_widened(t.b, first.pointer, first.offset,
                      halves ? ElementType::f16 : ElementType::f32,
                      halves ? "scales" : "scale_rows");
}

Value splat_row(const Tile1& t, const Place& at, const std::string& name) {
  if (!has_half_scales(t)) return load_dup32(t, at, name);
  const Length bytes = lanes_bytes(t.b.isa(), ElementType::f16);
  const Value half = t.b.op(OpCode::load_dup, {at.pointer},
                            {.bits = 16, .offset = at.offset, .bytes = bytes}, name, Role::operand);
  return t.b.op(OpCode::cvt_f16_f32, {half}, {}, name, Role::operand);
}

std::vector<Value> shared_row_scales(const Tile1& t, const std::vector<Place>& rows) {
  const auto lanes = static_cast<size_t>(t.lanes().is_fixed() ? t.lanes().fixed : 0);
  const bool together = lanes != 0 && static_cast<size_t>(t.lhs.rows) % lanes == 0 &&
                        t.b.isa().has(OpCode::dup_lane, 32);
  std::vector<Value> all;
  Value vector = no_value;
  for (size_t r = 0; r < rows.size(); ++r) {
    const std::string name = fmt::format("scale_row_{}", r);
    if (together && r % lanes == 0) vector = rows_together(t, rows[r]);
    const Value scale =
        together ? t.b.op(OpCode::dup_lane, {vector},
                          {.bits = 32, .imm = static_cast<int64_t>(r % lanes)}, name, Role::operand)
                 : splat_row(t, rows[r], name);
    all.insert(all.end(), static_cast<size_t>(t.vectors()), scale);
  }
  return all;
}

/// A load for each vector: instructions may take it as an operand.
std::vector<Value> Multiplier::row_scales(const Tile1& t, const std::vector<Place>& rows) {
  if (has_half_scales(t) || has_real_sums(*t.lhs.layout)) return shared_row_scales(t, rows);
  std::vector<Value> all;
  for (size_t r = 0; r < rows.size(); ++r) {
    for (int64_t j = 0; j < t.vectors(); ++j) {
      all.push_back(load_dup32(t, rows[r], fmt::format("scale_row_{}", r)));
    }
  }
  return all;
}

std::vector<Value> Multiplier::zero_factors(const Tile1& t, float by) {
  const Value factor = splat32(t.b, std::bit_cast<uint32_t>(by), "negated_half");
  return std::vector<Value>(static_cast<size_t>(t.vectors()), factor);
}

std::vector<Value> Multiplier::negated_sums(const Tile1& t, const std::vector<Place>& rows) {
  std::vector<Value> all;
  for (const Place& at : rows) {
    const Value codes = negated_codes(t, at);
    const Value real = t.b.op(OpCode::cvt_i32_f32, {codes}, {}, "sum_of_codes", Role::operand);
    all.insert(all.end(), static_cast<size_t>(t.vectors()), real);
  }
  return all;
}

Rows Multiplier::arrange(const Tile1& t, const std::vector<Value>& totals) {
  return by_rows(totals, t.v.tile.m.fixed);
}

Value real_of_sum(const Tile1& t, Value sum) {
  constexpr int factor_bits = 4;
  if (!has_high_nibbles(t.v) || keeps_factor(t)) {
    return t.b.op(OpCode::cvt_i32_f32, {sum}, {}, "real", Role::operand);
  }
  if (t.b.isa().has(OpCode::cvt_fixed_f32)) {
    return t.b.op(OpCode::cvt_fixed_f32, {sum}, {.imm = factor_bits}, "real", Role::operand);
  }
  const Value part = splat32(t.b, 0x3d800000U, "sixteenth");
  const Value real = t.b.op(OpCode::cvt_i32_f32, {sum}, {}, "real", Role::operand);
  return t.b.op(OpCode::fmul, {real, part}, {}, "real", Role::operand);
}

bool keeps_factor(const Tile1& t) {
  const bool tiles = contract_of(t.v).contraction == Contraction::outer;
  return has_high_nibbles(t.v) && !tiles && !t.b.isa().has(OpCode::cvt_fixed_f32);
}

bool has_high_nibbles(const Variant& v) {
  const bool in_scales = field_of(v.rhs, FieldKind::scales).factor != 1;
  return !in_scales && v.rhs.element == ElementType::i4 && v.rhs.order.pair == NibblePair::depth &&
         !v.rhs.order.low_unsigned;
}

bool has_raw_blocks(const Variant& v) {
  return v.rhs.block != 0 && v.rhs.order.pair == NibblePair::column &&
         v.isa->vector_bytes == Length{16};
}

std::vector<Value> without_factor(const Tile1& t, std::vector<Value> totals, size_t every) {
  const Value part = splat32(t.b, 0x3d800000U, "sixteenth");
  for (size_t i = 0; i < totals.size(); i += every) {
    totals[i] = t.b.op(OpCode::fmul, {totals[i], part}, {}, "f", Role::accumulator);
  }
  return totals;
}

}  // namespace tw
