// Types of operations' results: the one rule that Builder, verifier and interpreter share.
#pragma once

#include <vector>

#include "ir/program.h"

namespace tw {

constexpr int64_t longest_vector = 256;  ///< bytes: 2048 bits

/// Length of the vector that `code` makes of one of `argument` bytes (Lengths).
Length result_bytes(OpCode code, Length argument);

/// Type of what `code` makes (a scalar for operations without a result).
/// `bytes` is the length of a vector result, or of the vectors that a predicate governs; zero: the
/// length of the first vector argument or, without one, the ISA's vector length. A tile has the
/// shape of the first one among the arguments; else `rows` of `bytes`, or that of accumulators.
Type result_type(OpCode code, int bits, Length bytes, const Types& args, const Isa& isa,
                 Length rows = {});

/// Can its registers hold values of that type? Those of a tile have exactly its shape.
bool holds(const RegisterFile& file, const Type& type);
/// Is the operand's file one of those? True where it names none.
bool fits(const Isa& isa, const Operand& operand, const Type& type);

}  // namespace tw
