// Instruction selection: operations become rows of the ISA's table.
#pragma once

#include "ir/program.h"

namespace tw {

struct SelectOptions {
  int loads_per_row = 0;  ///< at most; 0: as many as rows have, and chains of post-indexed loads
  bool only_neighbors = false;  ///< chains join only loads with none of another pointer in between
};

/// What selection made use of.
struct Selection {
  int loads_per_row = 0;  ///< of the row that makes most values of them
  bool chained = false;   ///< whether there are chains of post-indexed loads
};

/// Replaces operations by rows with assembly text, as many operations a row as possible: memory
/// operands, addressing, pairs, register lists, post-indexed loads. Operations of which nobody uses
/// the result disappear. Frame slots stay operations: the calling convention prints them.
/// Throws std::runtime_error naming the operation and the ISA when no row says it.
Selection select(Program& program, const SelectOptions& options = {});

}  // namespace tw
