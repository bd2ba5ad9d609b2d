// C text that places the fields of an lhs panel, from its Layout.
#pragma once

#include <string>

#include "model/layout.h"

namespace tw {

/// Of an lhs packer, whose arguments say how often values stand there and what sums are multiplied
/// by. What stands behind the codes of `rows` rows without blocks, from `at` on.
std::string lhs_fields_text(const Layout& layout);
/// 32-bit values behind the codes of a row, or behind its blocks, sums apart.
int64_t fixed_lhs_fields(const Layout& layout);
/// With blocks: where their fields are, those of one row, and those behind the blocks.
std::string lhs_places_text(const Layout& layout);
std::string lhs_block_fields_text(const Layout& layout);
std::string lhs_row_fields_text(const Layout& layout);

/// Throws std::runtime_error when no packer knows how to write such fields.
void check_packable(const Layout& layout);

}  // namespace tw
