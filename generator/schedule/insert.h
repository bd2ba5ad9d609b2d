// Puts operations between the nodes of a Program, and takes out those that nobody needs.
#pragma once

#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace tw {

/// What to insert, by the address of the node that it belongs to (Op, Loop or If). Addresses hold
/// until insert() moves the nodes.
struct Insertions {
  std::unordered_map<const void*, std::vector<Op>> before, after;
  std::unordered_map<const void*, std::vector<Op>> body_begin, body_end;  ///< of loops
  std::vector<Op> program_begin;
  [[nodiscard]] bool empty() const {
    return before.empty() && after.empty() && body_begin.empty() && body_end.empty() &&
           program_begin.empty();
  }
};

void insert(Program& program, Insertions insertions);

/// Takes out operations of which nobody uses the result, until there are none.
void drop_unused(Program& program);

/// Replaces every use of `from` in `region`, nested regions included, by `to`.
void replace_uses(Region& region, Value from, Value to);

}  // namespace tw
