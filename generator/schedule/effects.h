// What an operation does to memory and state: which operations may not pass one another.
#pragma once

#include <span>
#include <vector>

#include "ir/program.h"

namespace tw {

/// Bytes [base + offset, base + offset + size).
struct Access {
  bool writes = false;
  Value base = no_value;  ///< no_value: an address that is computed inside an instruction
  Length offset;
  Length size;              ///< zero: who knows where else, too
  bool is_scratch = false;  ///< through Program::scratch, which no other pointer meets
};

struct Effects {
  std::vector<Access> accesses;
  bool barrier = false;  ///< changes a mode: nothing passes
  [[nodiscard]] bool none() const { return accesses.empty() && !barrier; }
  [[nodiscard]] bool writes() const;
};

Effects effects(const Program& program, const Op& op);

/// May the two not change places? Accesses through one pointer with offsets that do not overlap
/// never conflict; prefetches never do.
bool conflict(const Effects& a, const Effects& b);

/// Dependences among the operations of a basic block, by index; before < after.
struct Dependences {
  std::vector<std::vector<int>> before;  ///< operations that must stand before
  std::vector<std::vector<int>> after;   ///< operations that must stand after
};
Dependences dependences(const Program& program, std::span<const Op* const> ops);

}  // namespace tw
