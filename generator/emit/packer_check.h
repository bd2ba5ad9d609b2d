// Layouts that packers know.
#pragma once

#include "model/layout.h"

namespace tw {

/// Throws std::runtime_error when no packer knows how to write such fields.
void check_packable(const Layout& layout);

}  // namespace tw
