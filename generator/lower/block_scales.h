// What the columns of a block are scaled by, and what their minimums come to: of sums in vector
// registers and in accumulator tiles alike.
#pragma once

#include "lower/tile.h"

namespace tw {

/// What scales and minimums of a super-block's blocks are multiplied by, for all columns; none.
struct BlockSteps {
  std::vector<Value> scales, minimums;
};

/// Scales of what is read of codes: tables' values are numbers of units, and E4M3 of 8 bits is read
/// as an f16.
std::vector<Value> in_units(const Tile1& t, std::vector<Value> scales);

/// From cursors at a super-block's first block, before which they stand.
BlockSteps load_steps(const Tile1& t, const std::vector<Value>& rhs);
/// The block's scales; `rhs`: as for column_scale().
std::vector<Value> scales_of_block(const Tile1& t, const std::vector<Value>& rhs,
                                   const BlockSteps& steps, Columns columns = {});
/// Minus the block's minimums, which those of super-blocks are kept as.
std::vector<Value> negated_minimums(const Tile1& t, const std::vector<Value>& rhs,
                                    const BlockSteps& steps, Columns columns = {});

}  // namespace tw
