#include "schedule/order.h"

#include <algorithm>
#include <array>
#include <unordered_map>
#include <utility>

#include "schedule/effects.h"
#include "schedule/liveness.h"

namespace tw {
namespace {

constexpr size_t kinds = 4;
using Counts = std::array<int, kinds>;

size_t index(Kind kind) {
  return static_cast<size_t>(kind);
}

/// A basic block with values renumbered from 0, so that orders are tried cheaply.
struct BasicBlock {
  struct Item {
    Operands results, args;  ///< args without repeats
  };
  std::vector<Item> items;
  Dependences graph;
  std::vector<size_t> kind;    ///< per value
  std::vector<int> uses;       ///< per value: items that it is an argument of
  std::vector<char> comes_in;  ///< defined before the block
  std::vector<char> goes_out;  ///< used after it
  Counts through{};            ///< values that live through and are not used
};

struct Cost {
  int excess = 0;   ///< registers that do not exist
  int most = 0;     ///< vector registers
  int scalars = 0;  ///< of the excess
  friend auto operator<=>(const Cost&, const Cost&) = default;
};

Counts available(const Isa& isa) {
  Counts counts{};
  for (const RegisterFile& file : isa.files) counts[index(file.kind)] += file.count();
  return counts;
}

Cost cost(const BasicBlock& block, const std::vector<int>& order, const Counts& available) {
  std::vector<int> uses = block.uses;
  Counts now = block.through;
  for (size_t v = 0; v < block.kind.size(); ++v) now[block.kind[v]] += block.comes_in[v];
  Counts most = now;
  for (int i : order) {
    const BasicBlock::Item& item = block.items[static_cast<size_t>(i)];
    for (int v : item.args) {
      const auto at = static_cast<size_t>(v);
      if (--uses[at] == 0 && !block.goes_out[at]) --now[block.kind[at]];
    }
    for (int v : item.results) ++now[block.kind[static_cast<size_t>(v)]];
    for (size_t k = 0; k < kinds; ++k) most[k] = std::max(most[k], now[k]);
    for (int v : item.results) {
      const auto at = static_cast<size_t>(v);
      if (uses[at] == 0 && !block.goes_out[at]) --now[block.kind[at]];
    }
  }
  const auto excess = [&](size_t kind) { return std::max(0, most[kind] - available[kind]); };
  Cost cost{0, most[index(Kind::vector)], excess(index(Kind::scalar))};
  for (size_t k = 0; k < kinds; ++k) cost.excess += excess(k);
  return cost;
}

using Edges = std::vector<std::vector<int>>;

/// Operations one at a time, each when all that it waits for is taken: the one with which the
/// number of live values grows least; among equals the earliest of them (`way` 1) or the latest
/// (-1).
template <typename Growth, typename Take>
std::vector<int> least_growth(const Edges& waits_for, const Edges& wakes, int way,
                              const Growth& growth, const Take& take) {
  std::vector<size_t> waits;
  for (const std::vector<int>& others : waits_for) waits.push_back(others.size());
  std::vector<int> ready, order;
  for (size_t i = 0; i < waits.size(); ++i) {
    if (waits[i] == 0) ready.push_back(static_cast<int>(i));
  }
  while (!ready.empty()) {
    auto best = ready.begin();
    int least = growth(*best);
    for (auto it = ready.begin() + 1; it != ready.end(); ++it) {
      const int its = growth(*it);
      if (its < least || (its == least && way * *it < way * *best)) {
        best = it;
        least = its;
      }
    }
    const int chosen = *best;
    ready.erase(best);
    order.push_back(chosen);
    take(chosen);
    for (int next : wakes[static_cast<size_t>(chosen)]) {
      if (--waits[static_cast<size_t>(next)] == 0) ready.push_back(next);
    }
  }
  return order;
}

/// From the first operation on: of those that could come next, the one after which fewest values
/// live; the earliest among equals.
std::vector<int> forward(const BasicBlock& block) {
  std::vector<int> uses = block.uses;
  const auto growth = [&](int i) {
    const BasicBlock::Item& item = block.items[static_cast<size_t>(i)];
    int delta = static_cast<int>(item.results.size());
    for (int v : item.args) {
      const auto at = static_cast<size_t>(v);
      delta -= uses[at] == 1 && !block.goes_out[at];
    }
    return delta;
  };
  const auto take = [&](int i) {
    for (int v : block.items[static_cast<size_t>(i)].args) --uses[static_cast<size_t>(v)];
  };
  return least_growth(block.graph.before, block.graph.after, 1, growth, take);
}

/// From the last operation back: of those that could come last, the one before which fewest values
/// live; the latest among equals.
std::vector<int> backward(const BasicBlock& block) {
  std::vector<char> live = block.goes_out;
  const auto growth = [&](int i) {
    const BasicBlock::Item& item = block.items[static_cast<size_t>(i)];
    int delta = 0;
    for (int v : item.args) delta += !live[static_cast<size_t>(v)];
    for (int v : item.results) delta -= live[static_cast<size_t>(v)];
    return delta;
  };
  const auto take = [&](int i) {
    const BasicBlock::Item& item = block.items[static_cast<size_t>(i)];
    for (int v : item.results) live[static_cast<size_t>(v)] = 0;
    for (int v : item.args) live[static_cast<size_t>(v)] = 1;
  };
  std::vector<int> order = least_growth(block.graph.after, block.graph.before, -1, growth, take);
  std::reverse(order.begin(), order.end());
  return order;
}

/// One end after the other, each right behind what only it and later ones need; as they stood.
std::vector<int> by_ends(const BasicBlock& block) {
  std::vector<char> done(block.items.size(), 0);
  std::vector<int> order;
  for (size_t i = 0; i < block.items.size(); ++i) {
    if (!block.graph.after[i].empty()) continue;
    std::vector<int> needed, next = {static_cast<int>(i)};
    while (!next.empty()) {
      const int at = next.back();
      next.pop_back();
      if (std::exchange(done[static_cast<size_t>(at)], 1) != 0) continue;
      needed.push_back(at);
      for (const int before : block.graph.before[static_cast<size_t>(at)]) next.push_back(before);
    }
    std::sort(needed.begin(), needed.end());
    order.insert(order.end(), needed.begin(), needed.end());
  }
  return order;
}

class Orderer {
 public:
  explicit Orderer(Program& program)
      : program_(program), live_(liveness(program)), available_(available(*program.isa)) {}

  void order(Region& region) {
    for (size_t i = 0; i < region.nodes.size();) {
      size_t end = i;
      while (end < region.nodes.size() && std::holds_alternative<Op>(region.nodes[end])) ++end;
      if (end - i > 2) order(region, i, end);
      if (end < region.nodes.size()) {
        for_each_region(region.nodes[end], [&](Region& inner) { order(inner); });
      }
      i = end + 1;
    }
  }

 private:
  BasicBlock block(std::span<const Op* const> ops) {
    BasicBlock s;
    s.graph = dependences(program_, ops);
    const int after = live_.position.at(ops.back()) + 2;
    const int first = live_.position.at(ops.front());
    std::unordered_map<Value, int> local;
    auto number = [&](Value v, bool defined_here) {
      auto [at, is_new] = local.try_emplace(v, static_cast<int>(s.kind.size()));
      if (is_new) {
        s.kind.push_back(index(program_.type(v).kind));
        s.uses.push_back(0);
        s.comes_in.push_back(!defined_here);
        s.goes_out.push_back(lives_after(v, after));
      }
      return at->second;
    };
    for (const Op* op : ops) {
      BasicBlock::Item item;
      for (Value v : op->args) {
        const int at = number(v, false);
        if (std::find(item.args.begin(), item.args.end(), at) != item.args.end()) continue;
        item.args.push_back(at);
        ++s.uses[static_cast<size_t>(at)];
      }
      for (Value v : op->results) item.results.push_back(number(v, true));
      s.items.push_back(std::move(item));
    }
    for (size_t v = 0; v < program_.values.size(); ++v) {
      if (!local.contains(static_cast<Value>(v)) && covers(live_.of[v], first)) {
        ++s.through[index(program_.values[v].type.kind)];
      }
    }
    return s;
  }

  /// The same, but prefetches stay between their neighbors: dealt out over a block they keep memory
  /// busy; of a burst a core forgets some.
  static BasicBlock with_prefetches_kept(BasicBlock block, std::span<const Op* const> ops) {
    for (size_t i = 1; i < ops.size(); ++i) {
      if (!prefetches(ops[i - 1]->code) && !prefetches(ops[i]->code)) continue;
      block.graph.before[i].push_back(static_cast<int>(i) - 1);
      block.graph.after[i - 1].push_back(static_cast<int>(i));
    }
    return block;
  }

  /// Scalars that are not used here wait in the frame.
  static bool fits(const Cost& cost, const BasicBlock& block) {
    return cost.excess == cost.scalars && cost.scalars <= block.through[index(Kind::scalar)];
  }

  /// The block's end may be that of a region whose yields are read right there.
  bool lives_after(Value v, int after) const {
    return covers(live_.of[static_cast<size_t>(v)], after);
  }

  void order(Region& region, size_t begin, size_t end) {
    std::vector<const Op*> ops;
    for (size_t i = begin; i < end; ++i) ops.push_back(&std::get<Op>(region.nodes[i]));
    const BasicBlock s = block(ops);
    std::vector<int> best(ops.size());
    for (size_t i = 0; i < best.size(); ++i) best[i] = static_cast<int>(i);
    Cost best_cost = cost(s, best, available_);
    if (best_cost.excess == 0) return;
    for (const BasicBlock& graph : {with_prefetches_kept(s, ops), s}) {
      for (std::vector<int> other : {forward(graph), backward(graph)}) {
        const Cost its = cost(s, other, available_);
        if (its < best_cost) {
          best_cost = its;
          best = std::move(other);
        }
      }
      if (fits(best_cost, s)) break;
    }
    if (best_cost.excess != 0) {  // rather nothing in the frame at all
      std::vector<int> other = by_ends(s);
      if (cost(s, other, available_).excess == 0) best = std::move(other);
    }
    std::vector<Node> sorted;
    for (int i : best) sorted.push_back(std::move(region.nodes[begin + static_cast<size_t>(i)]));
    std::move(sorted.begin(), sorted.end(), region.nodes.begin() + static_cast<long>(begin));
  }

  Program& program_;
  Liveness live_;
  Counts available_;
};

}  // namespace

void order(Program& program) {
  Orderer(program).order(program.body);
}

}  // namespace tw
