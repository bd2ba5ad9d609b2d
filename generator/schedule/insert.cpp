#include "schedule/insert.h"

#include <algorithm>
#include <span>

#include "schedule/liveness.h"

namespace tw {
namespace {

void append(std::vector<Node>& nodes, std::unordered_map<const void*, std::vector<Op>>& from,
            const void* key) {
  const auto at = from.find(key);
  if (at == from.end()) return;
  for (Op& op : at->second) nodes.emplace_back(std::move(op));
}

const void* address(const Node& node) {
  if (const auto* op = std::get_if<Op>(&node)) return op;
  if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) return loop->get();
  return std::get<std::unique_ptr<If>>(node).get();
}

/// `holder`: the node that the region belongs to, null for the Program's own.
void insert(Region& region, Insertions& insertions, const void* holder) {
  std::vector<Node> nodes;
  nodes.reserve(region.nodes.size());
  append(nodes, insertions.body_begin, holder);
  for (Node& node : region.nodes) {
    const void* key = address(node);
    append(nodes, insertions.before, key);
    for_each_region(node, [&](Region& inner) { insert(inner, insertions, key); });
    nodes.push_back(std::move(node));
    append(nodes, insertions.after, key);
  }
  append(nodes, insertions.body_end, holder);
  region.nodes = std::move(nodes);
}

/// From the end, so that what only unused operations use is unused when its turn comes.
void drop_unused(Region& region, std::vector<int>& uses) {
  std::vector<Node> kept;
  for (auto node = region.nodes.rbegin(); node != region.nodes.rend(); ++node) {
    if (auto* op = std::get_if<Op>(&*node)) {
      const auto used = [&](Value v) { return uses[static_cast<size_t>(v)] > 0; };
      if (!op->results.empty() && std::none_of(op->results.begin(), op->results.end(), used)) {
        for (Value v : op->args) --uses[static_cast<size_t>(v)];
        continue;
      }
    }
    for_each_region(*node, [&](Region& inner) { drop_unused(inner, uses); });
    kept.push_back(std::move(*node));
  }
  std::reverse(kept.begin(), kept.end());
  region.nodes = std::move(kept);
}

}  // namespace

void drop_unused(Program& program) {
  std::vector<int> uses(program.values.size(), 0);
  for_each_use(program.body, [&](Value v) { ++uses[static_cast<size_t>(v)]; });
  drop_unused(program.body, uses);
}

void insert(Program& program, Insertions insertions) {
  insert(program.body, insertions, nullptr);
  std::vector<Node> nodes;
  for (Op& op : insertions.program_begin) nodes.emplace_back(std::move(op));
  std::move(program.body.nodes.begin(), program.body.nodes.end(), std::back_inserter(nodes));
  program.body.nodes = std::move(nodes);
}

void replace_uses(Region& region, Value from, Value to) {
  auto all = [&](std::span<Value> values) { std::replace(values.begin(), values.end(), from, to); };
  for (Node& node : region.nodes) {
    if (auto* op = std::get_if<Op>(&node)) {
      all(op->args);
    } else if (auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
      if ((*loop)->count == from) (*loop)->count = to;
      all((*loop)->inits);
      all((*loop)->yields);
    } else {
      If& branch = *std::get<std::unique_ptr<If>>(node);
      if (branch.a == from) branch.a = to;
      if (branch.b == from) branch.b = to;
    }
    for_each_region(node, [&](Region& inner) { replace_uses(inner, from, to); });
  }
}

}  // namespace tw
