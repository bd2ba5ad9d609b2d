// Sums, and other combinations, of the lanes of f32 vectors.
#pragma once

#include <vector>

#include "ir/builder.h"

namespace tw {

/// Lane j of the result combines all lanes of vector j: by halves (of pairs, of segments, of
/// vectors), the same order for all. The vectors are a multiple of as many as a vector has lanes,
/// of which each makes one result, or 4, which the result's first lanes hold, repeated.
std::vector<Value> across(Builder& b, std::vector<Value> vectors, OpCode combine);

}  // namespace tw
