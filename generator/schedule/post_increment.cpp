#include "schedule/post_increment.h"

#include <algorithm>
#include <map>
#include <set>

namespace tw {
namespace {

/// What loads have in common that one row can do.
struct Shape {
  OpCode code = OpCode::load;
  int bits = 0;
  int64_t bytes = 0;
  friend bool operator==(const Shape&, const Shape&) = default;
};

/// How many such loads a row can do together with the pointer's step, for all rows.
std::set<int64_t, std::greater<>> row_sizes(const Isa& isa, const Shape& shape) {
  std::set<int64_t, std::greater<>> sizes;
  for (const Row& row : isa.rows) {
    if (row.assembly.empty() || row.means.size() < 2) continue;
    const Length vector = isa.bytes_of(row);
    if (shape.code == OpCode::load && vector != Length{shape.bytes}) continue;
    const MeansNode& step = row.means.back();
    const auto loads = static_cast<int64_t>(row.means.size()) - 1;
    if (step.code != OpCode::iadd_imm || !step.offset_name.empty() ||
        step.offset != Length{loads * shape.bytes}) {
      continue;
    }
    bool fits = true;
    for (int64_t i = 0; i < loads; ++i) {
      const MeansNode& load = row.means[static_cast<size_t>(i)];
      fits = fits && load.code == shape.code && load.bits == shape.bits &&
             load.offset_name.empty() && load.offset == Length{i * shape.bytes} &&
             load.args[0].operand == step.args[0].operand;
    }
    if (fits) sizes.insert(loads);
  }
  return sizes;
}

struct Load {
  size_t node = 0;
  Shape shape;
};

/// One pointer's walk in an iteration.
struct Walk {
  size_t param = 0;
  int64_t step = 0;               ///< bytes per iteration
  std::map<int64_t, Load> loads;  ///< by offset
  size_t last_other = 0;          ///< after the last node that uses the pointer otherwise
  size_t advance = 0;             ///< node of the step
};

bool straight_without_stores(const Loop& loop) {
  return std::all_of(loop.body.nodes.begin(), loop.body.nodes.end(), [](const Node& node) {
    const auto* op = std::get_if<Op>(&node);
    return op != nullptr && !writes_memory(op->code) && op->code != OpCode::mode_enter &&
           op->code != OpCode::mode_leave;
  });
}

bool add_load(const Program& program, const Op& op, size_t node, Walk& walk) {
  const Length bytes =
      op.code == OpCode::load_dup ? Length{op.bits / 8} : program.type(op.results[0]).bytes;
  if (!op.offset.is_fixed() || !bytes.is_fixed()) return false;
  const Load load{node, {op.code, op.bits, bytes.fixed}};
  const auto [at, is_new] = walk.loads.emplace(op.offset.fixed, load);
  if (is_new) return true;
  // Of two loads of the same bytes only the last one can take part.
  walk.last_other = std::max(walk.last_other, at->second.node + 1);
  at->second = load;
  return true;
}

/// False unless the parameter is a pointer that loads read through and that steps by a constant.
bool find_walk(const Program& program, const Loop& loop, size_t param, Walk& walk) {
  const Value pointer = loop.params[param];
  const Value next = loop.yields[param];
  if (program.type(pointer).kind != Kind::scalar) return false;
  if (std::count(loop.yields.begin(), loop.yields.end(), pointer) != 0) return false;
  if (std::count(loop.yields.begin(), loop.yields.end(), next) != 1) return false;
  walk = {};
  walk.param = param;
  for (size_t i = 0; i < loop.body.nodes.size(); ++i) {
    const Op& op = std::get<Op>(loop.body.nodes[i]);
    if (std::find(op.args.begin(), op.args.end(), next) != op.args.end()) return false;
    if (std::find(op.args.begin(), op.args.end(), pointer) == op.args.end()) continue;
    if (op.code == OpCode::load || op.code == OpCode::load_dup) {
      if (!add_load(program, op, i, walk)) return false;
    } else if (op.code == OpCode::iadd_imm && op.results[0] == next && op.offset.is_fixed()) {
      walk.step = op.offset.fixed;
      walk.advance = i;
    } else {
      walk.last_other = i + 1;
    }
  }
  return walk.step > 0 && !walk.loads.empty();
}

/// Adjacent loads of one shape, which get a pointer of their own.
struct Group {
  int64_t begin = 0;  ///< offset of the first
  int64_t bytes = 0;  ///< of each
  int64_t count = 0;
  [[nodiscard]] int64_t end() const { return begin + bytes * count; }
};

/// Does a load through another pointer stand between the loads of the group?
bool interrupted(const Loop& loop, const Walk& walk, const Group& group) {
  size_t first = loop.body.nodes.size();
  size_t last = 0;
  for (int64_t at = group.begin; at < group.end(); at += group.bytes) {
    first = std::min(first, walk.loads.at(at).node);
    last = std::max(last, walk.loads.at(at).node);
  }
  for (size_t node = first; node < last; ++node) {
    const Op& op = std::get<Op>(loop.body.nodes[node]);
    const bool load = op.code == OpCode::load || op.code == OpCode::load_dup;
    if (load && op.args[0] != loop.params[walk.param]) return true;
  }
  return false;
}

/// Loads like the one at `begin`, one after another from there, within the step.
int64_t run_length(const Walk& walk, int64_t begin) {
  const auto first = walk.loads.find(begin);
  if (first == walk.loads.end()) return 0;
  const Shape& shape = first->second.shape;
  int64_t length = 0;
  for (int64_t at = begin; at + shape.bytes <= walk.step; at += shape.bytes) {
    const auto load = walk.loads.find(at);
    if (load == walk.loads.end() || load->second.shape != shape) break;
    ++length;
  }
  return length;
}

/// At most so many single loads at the end of a walk step by themselves: each of them waits for the
/// one before.
constexpr int64_t last_steps = 2;

/// From the pointer on without a gap; of equal loads the largest group first.
std::vector<Group> groups(const Isa& isa, const Loop& loop, const Walk& walk, bool only_neighbors) {
  std::vector<Group> found;
  int64_t done = 0;
  for (bool more = true; more;) {
    more = false;
    const int64_t run = run_length(walk, done);
    if (run == 0) break;
    const Shape& shape = walk.loads.at(done).shape;
    for (const int64_t size : row_sizes(isa, shape)) {
      const Group group{done, shape.bytes, size};
      // The offset of a single load costs nothing; all that it can save is the step at the end.
      const bool idle = size == 1 && shape.code == OpCode::load &&
                        walk.step - group.begin > last_steps * shape.bytes;
      if (size > run || idle || (only_neighbors && interrupted(loop, walk, group))) continue;
      found.push_back(group);
      done = group.end();
      more = true;
      break;
    }
  }
  return found;
}

/// Where each group stands: where its first load stood, but not after what follows it in the walk.
std::vector<size_t> places(const Walk& walk, const std::vector<Group>& parts) {
  std::vector<size_t> place(parts.size());
  size_t latest = walk.advance;
  for (auto at = walk.loads.lower_bound(parts.back().end()); at != walk.loads.end(); ++at) {
    latest = std::min(latest, at->second.node);
  }
  for (size_t g = parts.size(); g-- > 0;) {
    for (int64_t at = parts[g].begin; at < parts[g].end(); at += parts[g].bytes) {
      latest = std::min(latest, walk.loads.at(at).node);
    }
    place[g] = latest;
  }
  return place;
}

void chain(Program& program, Loop& loop, const Walk& walk, const std::vector<Group>& parts,
           const std::vector<size_t>& place) {
  std::map<size_t, std::vector<Op>> inserted;  // before a node
  std::vector<char> moved(loop.body.nodes.size(), 0);
  const Value start = loop.params[walk.param];
  Value pointer = start;
  auto load = [&](int64_t offset, int64_t base, size_t where) {
    const size_t node = walk.loads.at(offset).node;
    Op op = std::get<Op>(loop.body.nodes[node]);
    op.args[0] = pointer;
    op.offset = offset - base;
    inserted[where].push_back(op);
    moved[node] = 1;
  };
  auto step = [&](int64_t bytes, Value next, size_t where) {
    Op op = std::get<Op>(loop.body.nodes[walk.advance]);
    op.args[0] = pointer;
    op.offset = bytes;
    op.results[0] = pointer = next;
    inserted[where].push_back(op);
  };
  int64_t done = 0;
  moved[walk.advance] = 1;
  for (size_t g = 0; g < parts.size(); ++g) {
    for (int64_t at = parts[g].begin; at < parts[g].end(); at += parts[g].bytes) {
      load(at, done, place[g]);
    }
    const int64_t bytes = parts[g].end() - done;
    done = parts[g].end();
    const Value next = done == walk.step ? loop.yields[walk.param] : program.add_like(start);
    step(bytes, next, place[g]);
  }
  // What the rows did not reach: loads through the last pointer, and the rest of the step.
  for (auto at = walk.loads.lower_bound(done); at != walk.loads.end(); ++at) {
    load(at->first, done, at->second.node);
  }
  if (walk.step != done) {
    step(walk.step - done, loop.yields[walk.param], loop.body.nodes.size());
  }
  std::vector<Node> nodes;
  for (size_t i = 0; i <= loop.body.nodes.size(); ++i) {
    if (auto at = inserted.find(i); at != inserted.end()) {
      for (Op& op : at->second) nodes.emplace_back(std::move(op));
    }
    if (i < loop.body.nodes.size() && !moved[i]) nodes.push_back(std::move(loop.body.nodes[i]));
  }
  loop.body.nodes = std::move(nodes);
}

bool chain_loop(Program& program, Loop& loop, bool only_neighbors) {
  bool chained = false;
  if (!straight_without_stores(loop)) return chained;
  for (size_t param = 0; param < loop.params.size(); ++param) {
    Walk walk;
    if (!find_walk(program, loop, param, walk)) continue;
    const std::vector<Group> parts = groups(*program.isa, loop, walk, only_neighbors);
    if (parts.empty()) continue;
    const std::vector<size_t> place = places(walk, parts);
    if (walk.last_other > place.front()) continue;
    chain(program, loop, walk, parts, place);
    chained = true;
  }
  return chained;
}

}  // namespace

bool chain_post_increments(Program& program, bool only_neighbors) {
  bool chained = false;
  for_each_loop(program.body, [&](Loop& loop) {
    if (loop.hot) chained |= chain_loop(program, loop, only_neighbors);
  });
  return chained;
}

}  // namespace tw
