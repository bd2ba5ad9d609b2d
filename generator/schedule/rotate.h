// Loop rotation: part of every iteration moves into the one before.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "ir/program.h"

namespace tw {

/// A loop turned into three, which stand in this order after `before`.
struct Rotated {
  std::vector<Op> before;       ///< counts and values that nobody reads
  std::unique_ptr<Loop> first;  ///< the early part of the first iteration; 0 or 1 times
  std::unique_ptr<Loop> main;   ///< rest of an iteration, early part of the next; count - 1 times
  std::unique_ptr<Loop> last;   ///< rest of the last iteration; 0 or 1 times
};

/// `early`: per operation of the body, whether it moves; with each operation all that it depends
/// on. Adds values to `program`. Nothing if the ISA lacks the scalar rows that this takes.
std::optional<Rotated> rotate(Program& program, const Loop& loop, const std::vector<char>& early);

}  // namespace tw
