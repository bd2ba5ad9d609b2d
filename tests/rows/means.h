// Questions about a row's `means:` that its tests ask.
#pragma once

#include <map>
#include <string>

#include "rows/row_program.h"

namespace tw::test {

/// The operand that is the address of what the operation touches; empty: it touches nothing ...
std::string base_of(const Row& row, const MeansNode& node);
/// ... and the one that is added to it; empty: none is.
std::string distance_of(const Row& row, const MeansNode& node);

/// The number of an immediate; 0 for an empty name.
Length number(const RowUse& use, const std::string& immediate);

/// Length of a row's vector arguments: the longest vector of a row is as long as the row.
Length argument_bytes(const Row& row, const Isa& isa);

/// Lane width with which a predicate operand is used or made.
int lane_bits(const Row& row, const std::string& predicate);

/// Bytes of lanes that are floats that were computed, not moved: which NaN they hold is nobody's
/// promise. 0: none are.
int float_bytes(OpCode code);

/// Is the scalar that it makes an address, given which operands are?
bool makes_address(const MeansNode& node, const std::map<std::string, bool>& addresses);

/// Does the C printer print it as plain C, without asking the table? (`arg` it prints as a field
/// of the struct, whatever it is applied to.)
bool is_plain(const Row& row);

}  // namespace tw::test
