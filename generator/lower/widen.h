// Floats of 16 and 8 bits as f32 and back, codes as i32.
#pragma once

#include "ir/builder.h"
#include "lower/splat.h"
#include "model/format.h"

namespace tw {

/// Bytes of a vector of such values, one for each f32 lane.
inline Length lanes_bytes(const Isa& isa, ElementType type) {
  return (isa.vector_bytes * bits(type)).divided(32);
}

/// Whether the ISA loads vectors of that type, and makes 32 bits of them.
inline bool can_widen(const Isa& isa, ElementType type) {
  if (type == ElementType::f32) return true;
  const OpCode code = type == ElementType::f16 ? OpCode::cvt_f16_f32
                      : bits(type) == 8        ? OpCode::widen_8_32
                                               : OpCode::cvt_bf16_f32;
  return isa.has(code) && isa.has(OpCode::load, 0, lanes_bytes(isa, type));
}

/// A vector of that type; of f32 as it is.
inline Value widened(Builder& b, Value x, ElementType type, const std::string& name = "",
                     Role role = Role::other) {
  if (type == ElementType::f16) return b.op(OpCode::cvt_f16_f32, {x}, {}, name, role);
  if (type == ElementType::bf16) return b.op(OpCode::cvt_bf16_f32, {x}, {}, name, role);
  if (type == ElementType::i8) return b.op(OpCode::widen_8_32, {x}, {}, name, role);
  if (type == ElementType::e8m0) {
    // Bits of f32, whose exponents count alike: but 2^-127, no normal number, becomes 0.
    const Value wide = b.op(OpCode::widen_8_32, {x}, {}, name, role);
    const Value top = b.op(OpCode::shl, {wide}, {.bits = 32, .imm = 24}, name, role);
    return b.op(OpCode::shr, {top}, {.bits = 32, .imm = 1}, name, role);
  }
  return x;
}

/// Values of memory, one for each f32 lane, as f32; codes as i32.
inline Value load_widened(Builder& b, Value at, Length at_bytes, ElementType type,
                          const std::string& name) {
  const Value raw =
      b.op(OpCode::load, {at}, {.offset = at_bytes, .bytes = lanes_bytes(b.isa(), type)}, name,
           Role::operand);
  return widened(b, raw, type, name, Role::operand);
}

/// To nearest even by integers: `x` is no signaling NaN, so that the upper half of a NaN is one.
/// `below_half`: 0x7fff in every lane, just less than half of what is cut off.
inline Value to_bf16(Builder& b, Value x, Value below_half, const std::string& name = "",
                     Role role = Role::other) {
  const auto shifted = [&](OpCode code, Value v, int64_t by) {
    return b.op(code, {v}, {.bits = 32, .imm = by}, "bits", role);
  };
  const auto add = [&](Value v, Value w) {
    return b.op(OpCode::add, {v, w}, {.bits = 32}, "bits", role);
  };
  const Value one = shifted(OpCode::shr, below_half, 14);
  const Value odd = b.op(OpCode::and_, {shifted(OpCode::shr, x, 16), one}, {}, "odd", role);
  const Value sum = add(add(x, below_half), odd);
  const Value rounded = shifted(OpCode::shl, shifted(OpCode::shr, sum, 16), 16);
  // A NaN may have become anything. These are max and min of the two, or the second, if it is one.
  const Value above = b.op(OpCode::fmax, {rounded, x}, {}, "out", role);
  const Value kept = b.op(OpCode::fmin, {rounded, above}, {}, "out", role);
  return b.op(OpCode::high_half, {kept}, {}, name, role);
}

/// A vector of f32 as that type of float. `below_half`: of bf16, as to_bf16() takes it.
inline Value narrowed(Builder& b, Value x, ElementType type, Value below_half) {
  if (type == ElementType::f16) return b.op(OpCode::cvt_f32_f16, {x});
  return type == ElementType::bf16 ? to_bf16(b, x, below_half) : x;
}
inline Value below_half(Builder& b, ElementType type) {
  return type == ElementType::bf16 ? splat32(b, 0x7fff, "below_half") : no_value;
}

}  // namespace tw
