// The stage of attention that makes weights of scores (model/attention.h).
#pragma once

#include "ir/builder.h"
#include "model/variant.h"

namespace tw {

/// What a row keeps from block to block in front of its scores, a vector each.
enum StateVector {
  largest_at,     ///< score, the same in all lanes
  sum_at,         ///< of weights, by lanes
  correction_at,  ///< what the last block multiplied earlier sums by
  minus_q_at,     ///< minus the sum of q, where positions have scales
  surplus_at,     ///< what sums of products are too large by, likewise, by lanes
  state_vectors
};

/// A row after the other, in place.
void lower_attention_weights(Builder& b, const Variant& v);

}  // namespace tw
