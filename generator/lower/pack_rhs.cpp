#include "lower/pack_rhs.h"

#include <cstdlib>

namespace tw {

bool is_plain_panel(const Layout& layout) {
  const int data = field_index(layout, FieldKind::data);
  const int sums = field_index(layout, FieldKind::sums);
  const bool nibbles = layout.element == ElementType::i4 && layout.order.pair != NibblePair::none;
  if ((!nibbles && layout.element != ElementType::i8) || layout.block != 0 ||
      !layout.panel.is_fixed() || data < 0 || sums < data) {
    return false;
  }
  const Field& field = layout.fields[static_cast<size_t>(sums)];
  return field.type == ElementType::i32 && field.factor == CodeSums::factor(layout) &&
         field.repeat == 1;
}

bool has_all(const Isa& isa, std::initializer_list<const char*> operations) {
  for (const std::string operation : operations) {
    const size_t dot = operation.find('.');
    const auto code = find_operation(operation.substr(0, dot));
    const int bits = dot == std::string::npos ? 0 : std::atoi(operation.c_str() + dot + 1);
    if (!code || !isa.has(*code, bits)) return false;
  }
  return true;
}

void PackedStore::operator()(Value pointer, int64_t offset, size_t vector, Value codes,
                             std::vector<Value>& carried) const {
  const Value flipped = b.op(OpCode::xor_, {codes, flip});
  sums.add(carried, vector, flipped);
  b.op(stream ? OpCode::store_stream : OpCode::store, {pointer, flipped}, {.offset = offset});
}

bool can_stream(const Isa& isa) {
  return isa.has(OpCode::store_stream) && isa.has(OpCode::store_fence);
}

}  // namespace tw
