// The functions that run one row: its C text, and its assembly text on several choices of
// registers.
#pragma once

#include <string>
#include <vector>

#include "rows/row_cases.h"
#include "rows/row_program.h"

namespace tw::test {

struct RowFunction {
  bool is_assembly = false;
  bool keeps = false;
  std::string operands;  ///< which registers
  Program program;       ///< lowered for C, else allocated
};

/// Does selection, asked for the operations that the row means, choose the row?
bool is_selected(const RowUse& use, const RowProgram& program);
/// Does the C printer, asked for the row's operation, print the row's text?
bool is_printed_in_c(const RowUse& use, const RowProgram& program);

/// Throws std::runtime_error when registers cannot be given.
std::vector<RowFunction> row_functions(const RowUse& use, const RowGroup& group);

}  // namespace tw::test
