#include "schedule/match.h"

#include <algorithm>

#include "ir/typing.h"
#include "schedule/rows.h"

namespace tw {
namespace {

class Matcher {
 public:
  Matcher(const Block& block, Match& found) : block_(block), found_(found) {}

  bool node(int n, int at) {
    const Row& row = *found_.row;
    const MeansNode& means = row.means[static_cast<size_t>(n)];
    const Op& op = *block_.ops[static_cast<size_t>(at)];
    if (block_.taken[static_cast<size_t>(at)] || op.row != nullptr || op.code != means.code ||
        op.bits != means.bits) {
      return false;
    }
    if (std::find(found_.nodes.begin(), found_.nodes.end(), at) != found_.nodes.end()) return false;
    const Program& program = *block_.program;
    const Length length = vector_bytes(program, op);
    if (length != Length{} && length != program.isa->bytes_of(row, op.code)) return false;
    if (!attribute(means.offset_name, op.offset, means.offset)) return false;
    if (!attribute(means.imm_name, op.imm, means.imm)) return false;
    if (!means.result.empty() && !bind(means.result, op.results[0])) return false;
    found_.nodes[static_cast<size_t>(n)] = at;
    return arguments(means, op);
  }

 private:
  bool attribute(const std::string& name, Length value, Length literal) {
    if (name.empty()) {
      ++found_.literals;
      return value == literal;
    }
    const std::vector<Immediate>& fields = found_.row->immediates;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].name != name) continue;
      const Length rest = value - literal;
      if (found_.immediate_set[i]) return found_.immediates[i] == rest;
      found_.immediates[i] = rest;
      found_.immediate_set[i] = 1;
      return fields[i].fits(rest);
    }
    return false;
  }

  bool bind(const std::string& name, Value v) {
    const std::vector<Operand>& operands = found_.row->operands;
    for (size_t i = 0; i < operands.size(); ++i) {
      if (operands[i].name != name) continue;
      if (!fits(*block_.program->isa, operands[i], block_.program->type(v))) return false;
      if (found_.operands[i] != no_value) return found_.operands[i] == v;
      found_.operands[i] = v;
      return true;
    }
    return false;
  }

  bool argument(const MeansArg& arg, Value v) {
    if (arg.node < 0) return bind(arg.operand, v);
    if ((*block_.uses)[static_cast<size_t>(v)] != 1) return false;
    const auto at = block_.definition.find(v);
    return at != block_.definition.end() && node(arg.node, at->second);
  }

  bool arguments(const MeansNode& means, const Op& op) {
    auto all = [&](size_t first, size_t second) {
      for (size_t i = 0; i < op.args.size(); ++i) {
        const size_t from = i == 0 ? first : i == 1 ? second : i;
        if (!argument(means.args[i], op.args[from])) return false;
      }
      return true;
    };
    if (!info(op.code).facts.commutes) return all(0, 1);
    const Match before = found_;
    if (all(0, 1)) return true;
    found_ = before;
    return all(1, 0);
  }

  const Block& block_;
  Match& found_;
};

/// The first operation before `last` that could be root `n`, now that other roots are bound.
bool other_root(const Block& block, int n, int last, Match& found) {
  const auto list = block.by_code.find(found.row->means[static_cast<size_t>(n)].code);
  if (list == block.by_code.end()) return false;
  for (auto at = list->second.rbegin(); at != list->second.rend(); ++at) {
    if (*at >= last || block.taken[static_cast<size_t>(*at)]) continue;
    Match attempt = found;
    if (!Matcher(block, attempt).node(n, *at)) continue;
    found = std::move(attempt);
    return true;
  }
  return false;
}

/// Whether only their arguments tell two operations of a row apart.
bool are_equal(const MeansNode& a, const MeansNode& b) {
  return a.code == b.code && a.bits == b.bits && a.imm == b.imm && a.imm_name == b.imm_name &&
         a.offset == b.offset && a.offset_name == b.offset_name;
}

/// Are equal ones in the order in which the row has them?
bool in_order(const Match& found, const std::vector<int>& roots) {
  for (size_t i = 1; i < roots.size(); ++i) {
    const auto before = static_cast<size_t>(roots[i - 1]);
    const auto now = static_cast<size_t>(roots[i]);
    if (are_equal(found.row->means[before], found.row->means[now]) &&
        found.nodes[before] > found.nodes[now]) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::vector<int> roots(const Row& row) {
  std::vector<char> inner(row.means.size(), 0);
  for (const MeansNode& node : row.means) {
    for (const MeansArg& arg : node.args) {
      if (arg.node >= 0) inner[static_cast<size_t>(arg.node)] = 1;
    }
  }
  std::vector<int> found;
  for (size_t i = 0; i < inner.size(); ++i) {
    if (!inner[i]) found.push_back(static_cast<int>(i));
  }
  return found;
}

bool match(const Block& block, const Row& row, int root, int at, Match& found) {
  found = {};
  found.row = &row;
  found.operands.assign(row.operands.size(), no_value);
  found.immediates.assign(row.immediates.size(), Length{});
  found.immediate_set.assign(row.immediates.size(), 0);
  found.nodes.assign(row.means.size(), -1);
  if (!Matcher(block, found).node(root, at)) return false;
  if (row.means.size() == 1) return true;
  // From the last one back, as equal ones are in order.
  const std::vector<int> all = roots(row);
  for (auto it = all.rbegin(); it != all.rend(); ++it) {
    const int other = *it;
    if (other == root || found.nodes[static_cast<size_t>(other)] >= 0) continue;
    if (!other_root(block, other, at, found)) return false;
  }
  return in_order(found, all);
}

}  // namespace tw
