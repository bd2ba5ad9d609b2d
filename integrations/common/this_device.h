#pragma once

#include "tilewright/tilewright.h"

namespace tw {

/// What kernels are chosen for.
const tw_device& this_device();

/// Of vectors that the layout's lengths count, as far as they hang on the machine.
size_t vector_bytes_of(const tw_layout& layout);

}  // namespace tw
