// Operands of kernels whose sums are floats.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "reference/float_reference.h"
#include "reference/matmul_reference.h"
#include "tilewright/registry.h"

namespace tw::test {

bool has_float_rows(const tw_layout& lhs);
bool has_float_weights(const tw_layout& rhs);
/// Rows of the lhs as their user keeps them.
bool is_unpacked(const tw_layout& lhs);
/// Products of such rows are added up as f16, but where weights stand in pairs of k.
bool has_half_sums(const tw_layout& lhs, const tw_layout& rhs);

/// The same operands as floats, as the layouts can hold them; codes of weights with scales of their
/// own.
FloatMatmul as_floats(const Matmul& problem, const tw_layout& lhs, const tw_layout& rhs);

/// Rows of the lhs that are not packed, one after the other.
std::vector<uint8_t> float_rows(const Matmul& problem, const tw_layout& lhs);

/// The weights as a packer into `rhs` finds them: rows of k values, or of n.
std::vector<uint8_t> float_source(const Matmul& problem, const tw_layout& rhs, bool kxn);

}  // namespace tw::test
