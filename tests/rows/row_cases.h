// Operands for one row, and what the interpreter says that its `means:` makes of them.
#pragma once

#include "rows/case_file.h"
#include "rows/row_program.h"

namespace tw::test {

/// `program` keeps the row's arguments; `vl` is the machine's, which other ISAs do not ask for.
RowGroup make_group(const RowUse& use, const RowProgram& program, VectorLength vl);

/// Runs an allocated Program of the same row on its physical registers, with the group's last
/// operands, made for vectors of the least length: empty, or what differs. Proves that the
/// registers were given right, not the table.
std::string check_registers(const Program& allocated, const RowGroup& group, bool keeps);

}  // namespace tw::test
