// The C types of scalars: sizes, bits, pointers to bytes.
#pragma once

#include "emit/c_values.h"

namespace tw {

/// Sets CValues::scalar and ::slots. Pointers spread from the argument struct through address
/// arithmetic and around loops.
void find_scalar_types(const Program& program, CValues& values);

}  // namespace tw
