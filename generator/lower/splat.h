// Constant vectors.
#pragma once

#include "ir/builder.h"

namespace tw {

/// The same 32 bits everywhere.
Value splat32(Builder& b, uint32_t bits, const std::string& name, Role role = Role::other);

}  // namespace tw
