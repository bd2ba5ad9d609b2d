// Floats of 16 bits as f32.
#pragma once

#include "ir/builder.h"
#include "model/format.h"

namespace tw {

/// A vector of that type; of f32 as it is.
inline Value widened(Builder& b, Value x, ElementType type, const std::string& name = "",
                     Role role = Role::other) {
  if (type == ElementType::f16) return b.op(OpCode::cvt_f16_f32, {x}, {}, name, role);
  if (type == ElementType::bf16) return b.op(OpCode::cvt_bf16_f32, {x}, {}, name, role);
  return x;
}

}  // namespace tw
