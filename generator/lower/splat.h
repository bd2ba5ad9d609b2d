// Constant vectors.
#pragma once

#include <array>
#include <vector>

#include "ir/builder.h"

namespace tw {

/// The same 32 bits everywhere.
Value splat32(Builder& b, uint32_t bits, const std::string& name, Role role = Role::other);

/// A table of bytes from constants, so that a kernel needs no memory but its operands: four vectors
/// of four of the bytes in every lane of 32 bits ...
std::vector<Value> splat_table(Builder& b, const std::array<uint8_t, 16>& bytes,
                               const std::string& name);
/// ... and one of them with all 16 in every segment.
Value join_table(Builder& b, const std::vector<Value>& words, const std::string& name);

}  // namespace tw
