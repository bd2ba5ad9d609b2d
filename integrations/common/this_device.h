#pragma once

#include "tilewright/tilewright.h"

namespace tw {

/// What kernels are chosen for.
const tw_device& this_device();

}  // namespace tw
