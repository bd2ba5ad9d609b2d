// Operands as KleidiAI's packers write them.
#pragma once

#include "model/variant.h"

namespace tw {

/// Whether KleidiAI has packed operands of that pair of formats that kernels here read.
bool kleidiai_packs(const Format& lhs, const Format& rhs);

/// The scales of its weights in blocks.
ElementType kleidiai_scales(const Format& lhs, const Format& rhs);

/// Such a pair in those panels; `block` values of k share a scale of the weights, 0: all of them.
LayoutPair kleidiai_layouts(const Format& lhs, const Format& rhs, const Panels& panels, int block);

/// What its operands in blocks, both of them, have beside their codes where that is not as above:
/// scales behind all codes in panels as wide as vectors; offsets.
void set_block_fields(const Format& lhs, const Format& rhs, LayoutPair& layouts);

}  // namespace tw
