// Operands of a multiplication packed into any Layout, as its text says.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layout.h"
#include "reference/matmul_reference.h"

namespace tw::test {

/// All panels of that side's operand, one after the other.
std::vector<uint8_t> pack(const Layout& layout, const Codes& codes, VectorLength vl);

}  // namespace tw::test
