// Operands of a multiplication packed into any Layout, as its text says.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layout.h"
#include "reference/matmul_reference.h"
#include "reference/static_reference.h"
#include "reference/sums_reference.h"

namespace tw::test {

/// The same as a multiplication whose outputs are codes.
StaticMatmul as_static(const Codes& codes);
/// With biases in the bits of floats.
SumsMatmul as_sums(const Codes& codes);
/// All panels of that side's operand, one after the other.
std::vector<uint8_t> pack(const Layout& layout, const Codes& codes, VectorLength vl);

}  // namespace tw::test
