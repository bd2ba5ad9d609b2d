// Operands of instruction rows in selected operations: who is tied to whom, which values form a
// tuple, which register file a value lives in.
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "ir/program.h"

namespace tw {

/// Operands of a row that are results, or arguments, in the order of Op::results and Op::args.
std::span<const Operand> result_operands(const Row& row);
std::span<const Operand> argument_operands(const Row& row);

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

/// Index into Isa::files, -1 of none.
int file_index(const Isa& isa, const RegisterFile* file);
/// The same of an operand's register file.
int file_index(const Isa& isa, const Operand& operand);

}  // namespace tw
