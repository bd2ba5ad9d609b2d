// Codes of which a table in the machine makes bytes, for as many vectors of columns as share them.
#include <fmt/format.h>

#include "lower/tile.h"
#include "model/operand_contract.h"

namespace tw {

bool looks_up_raised(const Variant& v) {
  const bool halves = multiplies_as_halves(*v.family.lhs, *v.family.rhs);
  return v.rhs.order.pair == NibblePair::next && v.rhs.order.low_unsigned &&
         byte_codes(v.rhs) == 2 && !looks_up_values(v) && !halves;
}

bool looks_up_values(const Variant& v) {
  const OperandContract& contract = contract_of(v);
  return contract.needs.back().code == OpCode::table_nibbles || looks_up_codes(contract);
}

void put_table(const Variant& v, Builder& b) {
  const bool has_signs = looks_up_codes(contract_of(v));
  const int64_t codes = int64_t{1} << bits(v.rhs.element);
  const auto value = [&](int64_t code) -> int64_t {
    if (has_signs) return static_cast<uint8_t>((code ^ (codes / 2)) - codes / 2);
    if (v.rhs.table == nullptr) return code;
    return static_cast<uint8_t>(v.rhs.table->values[static_cast<size_t>(code)]);
  };
  for (int64_t pair = 0; pair < codes / 2; ++pair) {
    const Value both = b.constant(value(2 * pair + 1) << 32 | value(2 * pair));
    b.op(OpCode::table_put, {both}, {.imm = pair});
  }
}

TableDecoder::TableDecoder(const Variant& v)
    : count_(byte_codes(v.rhs)),
      code_(count_ != 2          ? OpCode::table_values
            : looks_up_values(v) ? OpCode::table_nibbles
            : looks_up_raised(v) ? OpCode::raised_nibbles
                                 : OpCode::nibbles) {}

std::vector<Value> TableDecoder::operator()(const Tile1& t, Value raw, int64_t vector) const {
  std::vector<Value> all;
  for (int64_t i = 0; i < count_; ++i) {
    all.push_back(t.b.op(code_, {raw}, {.imm = i}, fmt::format("b_{}", vector + i), Role::operand));
  }
  return all;
}

}  // namespace tw
