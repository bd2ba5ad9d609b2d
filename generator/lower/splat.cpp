#include "lower/splat.h"

namespace tw {

Value splat32(Builder& b, uint32_t bits, const std::string& name, Role role) {
  const bool bytes_agree = bits == (bits & 0xff) * 0x01010101U;
  if (bytes_agree && b.isa().has(OpCode::splat, 8)) {
    return b.op(OpCode::splat, {}, {.bits = 8, .imm = bits & 0xff}, name, role);
  }
  return b.op(OpCode::dup, {b.constant(bits)}, {.bits = 32}, name, role);
}

}  // namespace tw
