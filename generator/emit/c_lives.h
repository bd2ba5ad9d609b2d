// Where the values of a Program are alive, in program order; for sharing C variables.
#pragma once

#include <vector>

#include "ir/program.h"

namespace tw {

/// Half-open: a value that is used last by an operation does not overlap that operation's result.
struct Life {
  int begin = 0;
  int end = 0;
};

struct Lives {
  std::vector<std::vector<Life>> of;  ///< one list per value
  std::vector<int> region;            ///< where a value is declared: index into parents
  std::vector<int> parents;           ///< of each region; -1 for the function's body
  std::vector<int> loop_depth;        ///< of each region
};

/// `in_place` values have no life; what they are made of is used where they are used.
Lives find_lives(const Program& program, const std::vector<bool>& in_place,
                 const std::vector<const Op*>& definition);

}  // namespace tw
