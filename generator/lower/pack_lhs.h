// What the Programs that quantize rows and blocks of rows of f32 are made of.
#pragma once

#include <vector>

#include "ir/builder.h"
#include "lower/pack.h"

namespace tw {

/// How floats become codes: one QuantizeParameter each, in all lanes.
class Quantizer {
 public:
  Quantizer(Builder& b, Value parameters, Rounding rounding);
  [[nodiscard]] Value code(Value x) const;  ///< i32 lanes

 private:
  Builder& b_;
  Rounding rounding_;
  Value factor_, lowest_, highest_, zero_point_;
};

std::vector<Value> load_floats(Builder& b, Value pointer, int64_t vectors);

/// i32 lanes to bytes, in order. Where it takes four vectors to fill one, `codes` are fours.
void store_codes(Builder& b, Value pointer, const std::vector<Value>& codes);

}  // namespace tw
