// The stage of attention that makes weights of scores (model/attention.h).
#pragma once

#include "ir/builder.h"
#include "model/variant.h"

namespace tw {

/// What a row keeps from block to block in front of its scores, a vector each: the largest score;
/// the sum of weights (its lanes are to be added up); what the last block multiplied earlier sums
/// by; and of positions with scales the sum of q, negated, and what sums of products are too large
/// by (likewise by lanes).
constexpr int64_t attention_state_vectors = 5;

/// A row after the other, in place.
void lower_attention_weights(Builder& b, const Variant& v);

}  // namespace tw
