// Variant -> Program: a whole matrix-multiplication kernel, every edge included. Names no ISA and
// no instruction: it asks the ISA which operations exist.
#pragma once

#include "ir/program.h"
#include "model/variant.h"

namespace tw {

/// Throws std::invalid_argument, saying what would be legal, when tile, knobs or layouts do not go
/// together.
Program lower(const Variant& variant);

}  // namespace tw
