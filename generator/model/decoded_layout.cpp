// What decoders make of codes in blocks, for products of many rows: bytes that are operands.
#include <algorithm>

#include "model/operand_contract.h"
#include "model/reject.h"

namespace tw {

Layout decoded_layout(const Family& family, const LayoutPair& layouts, Technique technique,
                      const Isa& isa) {
  const Format& rhs = *family.rhs;
  const OperandContract* contract =
      find_contract(*family.lhs, rhs, technique, LayoutStyle::own, isa, family.sums);
  const bool by_vectors = contract != nullptr &&
                          (technique == Technique::dot || technique == Technique::mmla) &&
                          !sums_in_tiles(*contract) && isa.vector_bytes.is_fixed();
  const bool are_short = layouts.rhs.block != 0 && !has_long_blocks(layouts.rhs);
  if (!by_vectors || !are_short || contract->pair != NibblePair::depth || !contract->low_unsigned) {
    reject(
        "panels of {} are not decoded to s8 on {}: in blocks of up to {} are those whose codes "
        "share bytes of one column and are multiplied as they count from the lowest, by technique "
        "dot or mmla, in vectors of one length",
        rhs.name, isa.name, plain_block);
  }
  Layout bytes = layouts.rhs;
  bytes.element = ElementType::i8;
  std::erase_if(bytes.fields, [](const Field& f) { return f.kind == FieldKind::tops; });
  const auto data = std::find_if(bytes.fields.begin(), bytes.fields.end(),
                                 [](const Field& f) { return f.kind == FieldKind::data; });
  data->type = ElementType::i8;
  bytes.order = {.kr = layouts.lhs.order.kr};
  const bool unsigned_values = rhs.table != nullptr && holds_unsigned(*contract);
  bytes.order.raised = rhs.table == nullptr ? middle_code(rhs)
                       : unsigned_values    ? unsigned_offset(*rhs.table)
                                            : 0;
  return bytes;
}

}  // namespace tw
