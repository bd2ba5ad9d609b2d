// C text that places a panel's fields, from its Layout.
#pragma once

#include <string>

#include "model/layout.h"

namespace tw {

/// "data_bytes(padded) + 128": a field's distance from the panel's start, in C.
std::string field_offset_text(const Layout& layout, FieldKind kind);

/// data_bytes(), panel_bytes() and write_fields() of an lhs packer.
std::string lhs_fields_text(const Layout& layout);
/// data_bytes(), sums_offset(), write_fields() and add_sums() of an rhs packer.
std::string rhs_fields_text(const Layout& layout);
/// The same of an rhs packer whose panels are as wide as vectors: statements that write the fields
/// behind the codes, from `at` on, and name the place of the sums.
std::string scalable_fields_text(const Layout& layout);
/// And of an lhs packer: of `rows` rows, from `at` on, which is behind the codes.
std::string scalable_lhs_fields_text(const Layout& layout);

/// write_floats() of an rhs packer: one value a column; where no column is, as the layout's edge
/// wants it.
std::string write_floats_text(const Layout& layout);

/// With blocks: write_block_fields() and, if there are fields behind the blocks, write_row_fields()
/// of an lhs packer.
std::string lhs_block_fields_text(const Layout& layout);
bool has_row_fields(const Layout& layout);

/// Throws std::runtime_error when no packer knows how to write such fields.
void check_packable(const Layout& layout);

}  // namespace tw
