// Operands of instruction rows in selected operations: who is tied to whom, which values form a
// tuple, which register file a value lives in.
#pragma once

#include <string_view>
#include <vector>

#include "ir/program.h"

namespace tw {

/// Operands of a row that are results, or arguments, in the order of Op::results and Op::args.
std::vector<const Operand*> result_operands(const Row& row);
std::vector<const Operand*> argument_operands(const Row& row);

/// One of them.
const Operand& result_operand(const Row& row, size_t index);
const Operand& argument_operand(const Row& row, size_t index);

/// Index in Op::results or Op::args of the operand with that name, -1 if it is none.
int result_index(const Row& row, std::string_view name);
int argument_index(const Row& row, std::string_view name);

/// The value of immediate `name` in `op`.
Length immediate(const Op& op, std::string_view name);

/// How long the vectors are that a row for `op` is made for: as its longest one, or those that its
/// predicate governs; zero where it has neither.
Length vector_bytes(const Program& program, const Op& op);

/// Tuples of an operation: lists of values that take consecutive registers, in that order.
std::vector<std::vector<Value>> tuples(const Op& op);

/// Index into Isa::files of an operand's register file, -1 when the ISA has none.
int file_index(const Isa& isa, const Operand& operand);
int file_index(const Isa& isa, Kind kind);

}  // namespace tw
