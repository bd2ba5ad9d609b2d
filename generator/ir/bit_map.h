// What instructions that move lanes do, found out by running them: where each bit comes from, as
// bits of its number.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "model/isa.h"

namespace tw {

/// The bits of all arguments are numbered, the first one's from 0 on; so are those of the result.
/// Bit i of a result bit's number is bit from[i] of its source's number, which has the bits of
/// `constant` too.
struct BitMap {
  std::vector<int> from;
  size_t constant = 0;
};

/// One instruction that moves lanes.
struct MoveOp {
  OpCode code{};
  int bits = 0;
  int64_t imm = 0;
};

/// None when it does anything but moving bits in such a way.
std::optional<BitMap> bit_map(const MoveOp& op, size_t bytes, int arguments);

/// Moves within one vector, or between two: the first result takes the place of x, the second that
/// of y, of an instruction each. from[w] of vectors of 2^w bits: the bit that tells x from y.
struct LaneMove {
  MoveOp first, second;
  std::vector<int> from;
  bool pair = false;
};

/// All that the ISA's rows can do with whole vectors, in the order of the rows.
std::vector<LaneMove> lane_moves(const Isa& isa);

}  // namespace tw
