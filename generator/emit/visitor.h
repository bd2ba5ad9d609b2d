// Walks through a Program's operations, loops and branches in order.
#pragma once

#include <functional>

#include "ir/program.h"

namespace tw {

/// Each is called with the region that the node is in; a loop before what is inside of it.
struct Visitor {
  std::function<void(const Op&, const Region&)> op = [](const Op&, const Region&) {};
  std::function<void(const Loop&, const Region&)> loop = [](const Loop&, const Region&) {};
  std::function<void(const If&, const Region&)> branch = [](const If&, const Region&) {};
  void visit(const Region& region) const {
    for (const Node& node : region.nodes) {
      if (const auto* o = std::get_if<Op>(&node)) {
        op(*o, region);
      } else if (const auto* l = std::get_if<std::unique_ptr<Loop>>(&node)) {
        loop(**l, region);
        visit((*l)->body);
      } else {
        const If& i = *std::get<std::unique_ptr<If>>(node);
        branch(i, region);
        visit(i.then_body);
        visit(i.else_body);
      }
    }
  }
};

}  // namespace tw
