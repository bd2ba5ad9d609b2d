// C text that places a panel's fields, from its Layout.
#pragma once

#include <string>

#include "model/layout.h"

namespace tw {

/// "data_bytes(padded) + 128": a field's distance from the panel's start, in C.
std::string field_offset_text(const Layout& layout, FieldKind kind);

/// data_bytes(), sums_offset(), write_fields() and add_sums() of an rhs packer.
std::string rhs_fields_text(const Layout& layout);
/// The same of an rhs packer whose panels are as wide as vectors: statements that write the fields
/// behind the codes, from `at` on, and name the place of the sums.
std::string scalable_fields_text(const Layout& layout);
/// write_floats() of an rhs packer: one value a column; where no column is, as the layout's edge
/// wants it.
std::string write_floats_text(const Layout& layout);

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
