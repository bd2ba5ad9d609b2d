#include "lower/weights.h"

#include <fmt/format.h>

#include "lower/block_scales.h"
#include "lower/splat.h"
#include "lower/widen.h"
#include "model/reject.h"

namespace tw {

Value worth_table(const Tile1& t, const std::array<uint8_t, 16>& worths) {
  const Value bytes = join_table(t.b, splat_table(t.b, worths, "worth"), "worth");
  const Value first =
      t.b.op(OpCode::segment, {bytes}, {.imm = 0, .bytes = 16}, "worth", Role::mask);
  const Value wide = t.b.op(OpCode::widen_8_32, {first}, {}, "worth", Role::mask);
  return t.b.op(OpCode::cvt_i32_f32, {wide}, {}, "worth", Role::mask);
}

Weights::Weights(const Layout& rhs) : rhs_(rhs), group_(depth_codes(rhs) * rhs.order.distance) {}

void Weights::prepare(const Tile1& t) {
  if (is_float(rhs_.element)) return;
  if (is_byte_float(rhs_.element)) return prepare_halves(t);
  const int64_t codes = int64_t{1} << bits(rhs_.element);
  if (t.b.isa().has(OpCode::look_up_32) && t.lanes() == Length{codes}) return prepare_table(t);
  const auto signs = static_cast<uint32_t>(offset_bits(rhs_));
  if (signs != 0) signs_ = splat32(t.b, signs * 0x01010101U, "signs", Role::mask);
}

void Weights::prepare_table(const Tile1& t) {
  const int sign = 1 << (bits(rhs_.element) - 1);
  const int lowest = offset_bits(rhs_) != 0 ? 0 : sign;  // the code that is worth -sign
  std::array<uint8_t, 16> worth{};
  for (int i = 0; i < 16; ++i) {
    worth[static_cast<size_t>(i)] = static_cast<uint8_t>((i ^ lowest) - sign);
  }
  table_ = worth_table(t, worth);
}

void Weights::prepare_halves(const Tile1& t) {
  if (t.vectors() % 2 != 0) {
    reject("tile {}x{} does not fit {}: two vectors of columns at a time do", to_string(t.v.tile.m),
           to_string(t.v.tile.n), t.v.family.rhs->name);
  }
  if (rhs_.element == ElementType::e5m2) return;
  lowest_ = splat32(t.b, 0x00800080U, "lowest", Role::mask);
  above_ = splat32(t.b, 0x40004000U, "above", Role::mask);
}

/// Two vectors of columns as f16. E5M2 is the upper byte of one. E4M3 has an exponent of one bit
/// less, whose bits those of an f16 above stay 0: 2^-8 of the value. Widening has put the sign
/// there, too, and the difference to what adding the lowest bit makes of that place clears it, but
/// where that carries: out of the code of a NaN, which becomes one of f16.
Value Weights::halves(const Tile1& t, Value bytes) const {
  const auto shifted = [&](int64_t by) {
    const Value wide = t.b.op(OpCode::widen_8_16, {bytes}, {}, "wide", Role::operand);
    return t.b.op(OpCode::shl, {wide}, {.bits = 16, .imm = by}, "halves", Role::operand);
  };
  if (rhs_.element == ElementType::e5m2) return shifted(8);
  const Value low = shifted(7);
  const Value next = t.b.op(OpCode::add, {low, lowest_}, {.bits = 16}, "next", Role::operand);
  const Value flips = t.b.op(OpCode::and_, {next, above_}, {}, "flips", Role::operand);
  return t.b.op(OpCode::xor_, {low, flips}, {}, "halves", Role::operand);
}

/// That of column vector j, of two that are loaded together.
Value Weights::of_halves(const Tile1& t, Value cursor, int64_t j, int64_t k) {
  const int64_t raw = j % t.rhs.rows, pair = raw / 2;
  Value& both = loaded_.emplace(std::tuple{cursor, pair, k}, no_value).first->second;
  if (both == no_value) {
    const Length bytes = t.b.isa().vector_bytes.divided(2);
    const Length at = code_offset(rhs_, 0, k) + bytes * pair;
    both = halves(
        t, t.b.op(OpCode::load, {cursor}, {.offset = at, .bytes = bytes}, "bytes", Role::operand));
  }
  return t.b.op(OpCode::cvt_f16_f32_half, {both}, {.imm = raw % 2}, fmt::format("w_{}", j),
                Role::operand);
}

void Weights::begin_block(const Tile1& t, const std::vector<Value>& rhs) {
  scales_ = in_units(t, block_columns(t, rhs, FieldKind::scales));
  if (field_index(rhs_, FieldKind::zero_points) < 0) return;
  zeros_ = block_columns(t, rhs, FieldKind::zero_points);
  if (!adds_zeros(t)) return;
  const Value zero = t.b.op(OpCode::zero, {}, {}, "none", Role::operand);
  for (size_t j = 0; j < zeros_.size(); ++j) {
    const std::string name = fmt::format("zero_{}", j);
    const Value negated = t.b.op(OpCode::fsub, {zero, zeros_[j]}, {}, name, Role::operand);
    zeros_[j] = t.b.op(OpCode::fmul, {negated, scales_[j]}, {}, name, Role::operand);
  }
}

/// Products of a zero point and a scale of 16 bits are exact, so that
///   (code - zero point) * scale = fma(code, scale, -zero point * scale)
/// bit for bit, if the difference is a float. A fused operation overwrites a copy of its addend,
/// for which rows that are held in lanes leave no register.
bool Weights::adds_zeros(const Tile1& t) const {
  const auto halves = [&](FieldKind kind) { return bits(field_of(rhs_, kind).type) == 16; };
  const Isa& isa = t.b.isa();
  return isa.can_print_assembly && !isa.has(OpCode::fma_lane) && halves(FieldKind::scales) &&
         halves(FieldKind::zero_points);
}

int64_t Weights::k_of(int64_t i) const {
  const int64_t kr = rhs_.order.kr;
  const int64_t codes = depth_codes(rhs_) * kr;  // of a column in a vector
  const int64_t part = i % group_ / codes * kr + i % kr;
  return i - i % group_ + i % codes / kr * rhs_.order.distance + part;
}

Value Weights::operator()(const Tile1& t, const std::vector<Value>& rhs, int64_t j, int64_t k) {
  const Value cursor = rhs[static_cast<size_t>(j / t.rhs.rows)];
  if (is_byte_float(rhs_.element)) {
    return scaled(t, of_halves(t, cursor, j, k), j, fmt::format("w_{}", j));
  }
  const bool two_columns = rhs_.order.pair == NibblePair::column;
  const int64_t raw = j % t.rhs.rows / (two_columns ? 2 : 1);
  const Length bytes =
      lanes_bytes(t.b.isa(), is_float(rhs_.element) ? rhs_.element : ElementType::i32);
  const Length at = code_offset(rhs_, 0, k) + bytes * raw;
  const std::string name = fmt::format("w_{}", j);
  const auto load = [&] {
    return t.b.op(OpCode::load, {cursor}, {.offset = at, .bytes = bytes}, name, Role::operand);
  };
  if (is_float(rhs_.element)) return widened(t.b, load(), rhs_.element, name, Role::operand);
  Value& codes =
      loaded_.emplace(std::tuple{cursor, raw, group_of(rhs_, k)}, no_value).first->second;
  if (codes == no_value) {
    codes = load();
    if (signs_ != no_value) {
      codes = t.b.op(OpCode::xor_, {codes, signs_}, {}, name, Role::operand);
    }
  }
  // The first of two columns, the second of two parts of a group.
  const bool high = two_columns ? j % 2 == 0 : k % group_ >= rhs_.order.distance;
  return scaled(t, real(t, codes, k % rhs_.order.kr * 8 + (high ? 4 : 0), name), j, name);
}

/// Of the code that begins with this bit of every lane.
Value Weights::real(const Tile1& t, Value codes, int64_t bit, const std::string& name) const {
  const int width = bits(rhs_.element);
  const int64_t above = 32 - width - bit;
  const auto shift = [&](OpCode code, Value x, int64_t by) {
    return t.b.op(code, {x}, {.bits = 32, .imm = by}, name, Role::operand);
  };
  if (table_ != no_value) {
    const Value number = bit == 0 ? codes : shift(OpCode::shr, codes, bit);
    return t.b.op(OpCode::look_up_32, {table_, number}, {}, name, Role::operand);
  }
  const Value top = above == 0 ? codes : shift(OpCode::shl, codes, above);
  const Value code = shift(OpCode::sar, top, 32 - width);
  return t.b.op(OpCode::cvt_i32_f32, {code}, {}, name, Role::operand);
}

/// By the scale of its block, if codes have those.
Value Weights::scaled(const Tile1& t, Value code, int64_t j, const std::string& name) const {
  if (scales_.empty()) return code;
  const auto column = static_cast<size_t>(j);
  if (!zeros_.empty() && adds_zeros(t)) {
    return t.b.op(OpCode::fma, {code, scales_[column], zeros_[column]}, {}, name, Role::operand);
  }
  if (!zeros_.empty()) {
    code = t.b.op(OpCode::fsub, {code, zeros_[column]}, {}, name, Role::operand);
  }
  return t.b.op(OpCode::fmul, {code, scales_[column]}, {}, name, Role::operand);
}

}  // namespace tw
