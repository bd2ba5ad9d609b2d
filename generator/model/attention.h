// Attention, a block of positions of one head of K and V at a time, for the rows of queries that
// share it. Three kernels (stages) make a block; what they hand on is in the caller's scratch.
//   scores   score[row][position] = q[row] . k[position]
//   weights  exp(score + slope * mask - the row's largest so far), beside what rows keep from block
//            to block
//   values   out[row] = out[row] * what the row's largest became smaller by + weight . v[position]
#pragma once

#include <cstdint>

#include "model/variant.h"

namespace tw {

/// Rows of queries (lhs), and rows of positions as a cache keeps them (rhs). Throws
/// std::invalid_argument with what would be legal.
LayoutPair attention_layouts(const Family& family, const Isa& isa);

/// Whether rows of positions are codes whose scale and zero point stand elsewhere: the stage of
/// weights has them, of K and of V.
bool has_scales_of_positions(const Format& positions);

/// Throws std::invalid_argument where the stage has no such tile: rows by positions (scores), by
/// positions in a vector (weights), by columns of V (values).
void check_attention_tile(const Variant& variant);

/// "attention_scores_f32_f32_f16_4x4_avx2".
std::string attention_name(const Variant& variant);

}  // namespace tw
