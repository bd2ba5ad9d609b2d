// How the values of a Program appear in C: as variables (which of them share one) or inside the
// expression that uses them; and with which C type.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tw {

/// Index of a value in lists that have one entry per value.
inline size_t at(Value v) {
  return static_cast<size_t>(v);
}

/// One C variable. Values that never live at the same time may share it: a loop's parameter, its
/// initial value, its next value and its result; the links of an accumulator chain.
struct CVariable {
  std::string type;         ///< "__m512i", "const uint8_t*", "size_t"
  std::string type_class;   ///< vectors and predicates: key of Isa::c_types
  std::string hint;         ///< wanted name
  bool is_constant = true;  ///< assigned once, by its declaration
};

/// C types of scalars.
enum class CScalar { size, bits64, const_pointer, pointer };

struct CValues {
  std::vector<const Op*> in_place;  ///< per value: written inside the expression that uses it
  std::vector<int> variable;        ///< per value: index into variables, -1 if none
  std::vector<CScalar> scalar;      ///< per value; scalars only
  std::vector<CVariable> variables;
  std::vector<CScalar> slots;  ///< of frame slots
};

/// `program` must be lowered or ordered (no instruction rows), without unused operations. Throws
/// std::runtime_error when the ISA's table lacks the C text that an operation needs.
CValues plan_c_values(const Program& program);

/// The row with which `op` is printed. Throws std::runtime_error when the ISA has none.
const Row& c_row(const Program& program, const Op& op);

/// True for operations that the C printer writes itself, as plain C: scalars and copies.
bool is_plain_c(OpCode code);

/// Key of Isa::c_types for an operand of `row`.
std::string c_class(const Row& row, const Operand& operand);

}  // namespace tw
