// Brings codes into any Layout, slowly and obviously: one value at a time, where the Layout says.
#pragma once

#include <cstdint>
#include <vector>

#include "model/layout.h"
#include "reference/matmul_reference.h"

namespace tw::test {

/// All panels of that side's operand, one after the other.
std::vector<uint8_t> pack(const Layout& layout, const Codes& codes, VectorLength vl);

}  // namespace tw::test
