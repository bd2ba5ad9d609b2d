// The shortest way from one order of lanes to another.
#pragma once

#include <optional>
#include <vector>

#include "ir/bit_map.h"

namespace tw {

/// A move as the search sees it.
struct PricedMove {
  LaneMove move;
  int cost = 0;  ///< instructions for two vectors
  int exchanged = 0;
};

/// Of so many bits within bytes, of two vectors of 2^width bits.
LaneMove exchange_of(int bits, size_t width);

/// The moves that leave units of 2^unit bits whole, dearer ones that do the same left out.
std::vector<PricedMove> priced_moves(const Isa& isa, int unit);

/// Lanes hold 1 + i, if what they hold is to be in lane i at the end; 0, which stands for any of
/// the `spare` symbols that no lane wants. What is in no lane is in the numbers of vectors.
using LaneOrder = std::vector<int>;

struct FoundStep {
  size_t move;      ///< index
  int symbol = -1;  ///< that comes in, as in LaneOrder; -1: none does
};

struct FoundWay {
  size_t start = 0;  ///< index
  std::vector<FoundStep> steps;
};
/// The cheapest from any of `starts` to the order where every lane i holds 1 + i. None if no way
/// leads there.
std::optional<FoundWay> shortest_way(const std::vector<PricedMove>& moves, int unit,
                                     const std::vector<LaneOrder>& starts, int spare);

}  // namespace tw
