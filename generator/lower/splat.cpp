#include "lower/splat.h"

namespace tw {

Value splat32(Builder& b, uint32_t bits, const std::string& name, Role role) {
  const bool bytes_agree = bits == (bits & 0xff) * 0x01010101U;
  if (bytes_agree && b.isa().has(OpCode::splat, 8)) {
    return b.op(OpCode::splat, {}, {.bits = 8, .imm = bits & 0xff}, name, role);
  }
  return b.op(OpCode::dup, {b.constant(bits)}, {.bits = 32}, name, role);
}

std::vector<Value> splat_table(Builder& b, const std::array<uint8_t, 16>& bytes,
                               const std::string& name) {
  std::vector<Value> words;
  for (size_t i = 0; i < bytes.size(); i += 4) {
    uint32_t four = 0;
    for (size_t j = 0; j < 4; ++j) four |= static_cast<uint32_t>(bytes[i + j]) << (8 * j);
    words.push_back(splat32(b, four, name, Role::mask));
  }
  return words;
}

Value join_table(Builder& b, const std::vector<Value>& words, const std::string& name) {
  const auto join = [&](Value low, Value high, int bits) {
    return b.op(OpCode::zip_lo, {low, high}, {.bits = bits}, name, Role::mask);
  };
  const Value high = join(words[2], words[3], 32), low = join(words[0], words[1], 32);
  return join(low, high, 64);
}

}  // namespace tw
