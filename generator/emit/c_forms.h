// Which values are written inside the expression that uses them, and which are not written at all.
#pragma once

#include "emit/c_values.h"

namespace tw {

/// Sets CValues::form and ::definition.
void choose_forms(const Program& program, CValues& values);

}  // namespace tw
