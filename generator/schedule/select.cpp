#include "schedule/select.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <tuple>
#include <utility>

#include "schedule/effects.h"
#include "schedule/insert.h"
#include "schedule/liveness.h"
#include "schedule/match.h"
#include "schedule/post_increment.h"
#include "schedule/rows.h"

namespace tw {
namespace {

/// Rows with assembly text by the operation that can stand for one of their roots.
struct RowRoot {
  const Row* row = nullptr;
  int root = 0;
};
using Rows = std::map<OpCode, std::vector<RowRoot>>;

int loads_of(const Row& row, const std::vector<int>& its_roots) {
  return static_cast<int>(std::count_if(its_roots.begin(), its_roots.end(), [&](int n) {
    return row.means[static_cast<size_t>(n)].code == OpCode::load;
  }));
}

Rows index_rows(const Isa& isa, const SelectOptions& options) {
  Rows rows;
  for (const Row& row : isa.rows) {
    if (row.assembly.empty()) continue;
    const std::vector<int> its = roots(row);
    if (options.loads_per_row > 0 && loads_of(row, its) > options.loads_per_row) continue;
    for (int n : its) rows[row.means[static_cast<size_t>(n)].code].push_back({&row, n});
  }
  return rows;
}

bool is_frame(const Op& op) {
  return uses_frame(op.code) || op.code == OpCode::scratch;
}

/// Selects one basic block from its end to its beginning.
class BlockSelector {
 public:
  BlockSelector(const Program& program, const Rows& rows, const std::vector<int>& uses)
      : program_(program), rows_(rows), uses_(uses) {
    block_.program = &program;
    block_.uses = &uses;
  }

  std::vector<Op> run(const std::vector<Op>& ops) {
    for (size_t i = 0; i < ops.size(); ++i) add(ops[i], static_cast<int>(i));
    block_.taken.assign(ops.size(), 0);
    for (int at = static_cast<int>(ops.size()) - 1; at >= 0; --at) {
      const auto i = static_cast<size_t>(at);
      if (block_.taken[i]) continue;
      if (is_frame(ops[i]) || ops[i].row != nullptr) {
        block_.taken[i] = 1;
        placed_[at] = ops[i];
      } else {
        choose(at);
      }
    }
    std::vector<Op> selected;
    for (auto& [at, op] : placed_) selected.push_back(std::move(op));
    return selected;
  }

 private:
  void add(const Op& op, int at) {
    block_.ops.push_back(&op);
    for (Value v : op.results) block_.definition[v] = at;
    for (Value v : op.args) users_[v].push_back(at);
    block_.by_code[op.code].push_back(at);
    place_.push_back(at);
    Effects its = effects(program_, op);
    if (!its.none()) memory_.emplace_back(at, std::move(its));
  }

  void choose(int at) {
    const Op& op = *block_.ops[static_cast<size_t>(at)];
    Match best;
    int best_place = 0;
    if (auto its = rows_.find(op.code); its != rows_.end()) {
      for (const RowRoot& candidate : its->second) {
        if (best.row != nullptr && candidate.row->means.size() < best.nodes.size()) continue;
        Match found;
        if (!match(block_, *candidate.row, candidate.root, at, found)) continue;
        if (best.row != nullptr && !is_better(found, best)) continue;
        if (const int place = place_of(found); place >= 0) {
          best = std::move(found);
          best_place = place;
        }
      }
    }
    if (best.row == nullptr) {
      throw std::runtime_error(fmt::format("{}: no instruction of {} says {}", program_.name,
                                           program_.isa->name, describe(op)));
    }
    put(best, best_place);
  }

  /// Of rows that say as much, that which says the more special thing, or of operations that stand
  /// closer together: a load between two neighbors goes with the one that was loaded last.
  static bool is_better(const Match& found, const Match& best) {
    const auto rank = [](const Match& its) {
      const int first = *std::min_element(its.nodes.begin(), its.nodes.end());
      return std::tuple(its.nodes.size(), its.literals, first);
    };
    return rank(found) > rank(best);
  }

  std::string describe(const Op& op) const {
    std::string text(info(op.code).name);
    if (op.bits != 0) text += fmt::format(".{}", op.bits);
    if (info(op.code).has('i')) text += fmt::format(" #{}", op.imm);
    if (op.offset != Length{}) text += fmt::format(" [{}]", to_string(op.offset));
    for (const Operands* values : {&op.results, &op.args}) {
      for (Value v : *values) {
        const Type& type = program_.type(v);
        const std::string bytes = to_string(type.bytes);
        if (type.kind == Kind::vector) return text + fmt::format(" for vectors of {} bytes", bytes);
        if (type.kind != Kind::tile) continue;
        return text + fmt::format(" for tiles of {} rows of {} bytes", to_string(type.rows), bytes);
      }
    }
    return text;
  }

  /// Where the row can stand: at its last operation, or, when it makes several values, where its
  /// first stood. -1: nowhere.
  int place_of(const Match& found) const {
    const std::vector<int> its_roots = roots(*found.row);
    int first = static_cast<int>(block_.ops.size());
    int last = -1;
    for (int n : its_roots) {
      first = std::min(first, found.nodes[static_cast<size_t>(n)]);
      last = std::max(last, found.nodes[static_cast<size_t>(n)]);
    }
    if (its_roots.size() > 1 && !ties_die(found, first)) return -1;
    for (int place : {first, last}) {
      if (can_stand(found, place)) return place;
    }
    return -1;
  }

  bool belongs(const Match& found, int at) const {
    return std::find(found.nodes.begin(), found.nodes.end(), at) != found.nodes.end();
  }

  /// A step of a pointer that others still need would cost a copy.
  bool ties_die(const Match& found, int place) const {
    for (const Operand& result : found.row->operands) {
      if (result.tied.empty()) continue;
      const Value v = found.operands[operand_index(*found.row, result.tied)];
      const auto users = users_.find(v);
      const size_t here = users == users_.end() ? 0 : users->second.size();
      if (static_cast<int>(here) < uses_[static_cast<size_t>(v)]) return false;
      for (int at : users->second) {
        if (!belongs(found, at) && place_[static_cast<size_t>(at)] > place) return false;
      }
    }
    return true;
  }

  static size_t operand_index(const Row& row, const std::string& name) {
    size_t i = 0;
    while (row.operands[i].name != name) ++i;
    return i;
  }

  bool can_stand(const Match& found, int place) const {
    for (size_t i = 0; i < found.operands.size(); ++i) {
      const Value v = found.operands[i];
      if (found.row->operands[i].is_result) {
        const auto users = users_.find(v);
        if (users == users_.end()) continue;
        for (int at : users->second) {
          if (!belongs(found, at) && place_[static_cast<size_t>(at)] <= place) return false;
        }
      } else if (auto at = block_.definition.find(v); at != block_.definition.end()) {
        if (place_[static_cast<size_t>(at->second)] >= place) return false;
      }
    }
    return std::all_of(found.nodes.begin(), found.nodes.end(),
                       [&](int at) { return may_move(found, at, place); });
  }

  bool may_move(const Match& found, int at, int place) const {
    const auto own = std::find_if(memory_.begin(), memory_.end(),
                                  [&](const auto& entry) { return entry.first == at; });
    if (at == place || own == memory_.end()) return true;
    for (const auto& [other, its] : memory_) {
      if (belongs(found, other)) continue;
      const bool was_before = other < at;
      const bool is_before = place_[static_cast<size_t>(other)] < place;
      if (was_before != is_before && conflict(own->second, its)) return false;
    }
    return true;
  }

  void put(const Match& found, int place) {
    Op op;
    op.row = found.row;
    op.immediates = found.immediates;
    for (size_t i = 0; i < found.operands.size(); ++i) {
      (found.row->operands[i].is_result ? op.results : op.args).push_back(found.operands[i]);
    }
    for (int at : found.nodes) {
      block_.taken[static_cast<size_t>(at)] = 1;
      place_[static_cast<size_t>(at)] = place;
    }
    placed_[place] = std::move(op);
  }

  const Program& program_;
  const Rows& rows_;
  const std::vector<int>& uses_;
  Block block_;
  std::unordered_map<Value, std::vector<int>> users_;  ///< operations of the block
  std::vector<int> place_;                             ///< per operation: where its row stands
  std::vector<std::pair<int, Effects>> memory_;        ///< operations with effects
  std::map<int, Op> placed_;                           ///< rows by place
};

class Selector {
 public:
  Selector(Program& program, const SelectOptions& options)
      : program_(program), rows_(index_rows(*program.isa, options)) {}

  void run() {
    split_offsets(program_.body);
    uses_.assign(program_.values.size(), 0);
    for_each_use(program_.body, [&](Value v) { ++uses_[static_cast<size_t>(v)]; });
    region(program_.body);
  }

 private:
  void region(Region& region) {
    std::vector<Node> reversed;
    std::vector<Op> block;
    auto flush = [&] {
      std::reverse(block.begin(), block.end());
      std::vector<Op> done = BlockSelector(program_, rows_, uses_).run(block);
      for (auto op = done.rbegin(); op != done.rend(); ++op) reversed.emplace_back(std::move(*op));
      block.clear();
    };
    for (auto node = region.nodes.rbegin(); node != region.nodes.rend(); ++node) {
      if (auto* op = std::get_if<Op>(&*node)) {
        block.push_back(std::move(*op));
        continue;
      }
      flush();
      for_each_region(*node, [&](Region& inner) { this->region(inner); });
      reversed.push_back(std::move(*node));
    }
    flush();
    std::reverse(reversed.begin(), reversed.end());
    region.nodes = std::move(reversed);
  }

  /// Is there a row for this operation alone, as it is?
  bool has_row(const Op& op) const {
    const auto its = rows_.find(op.code);
    if (its == rows_.end()) return false;
    const std::vector<int> none;
    Block block{&program_, {&op}, {}, {}, {0}, &none};
    return std::any_of(its->second.begin(), its->second.end(), [&](const RowRoot& candidate) {
      Match found;
      return candidate.row->means.size() == 1 && match(block, *candidate.row, 0, 0, found);
    });
  }

  Value append(std::vector<Node>& nodes, Op op, const std::string& hint) {
    const Value v = program_.add_value({Kind::scalar, 8}, hint, Role::address);
    op.results = {v};
    split_offset(nodes, op);
    nodes.emplace_back(std::move(op));
    return v;
  }

  /// Offsets that no row can encode are added to the pointer first.
  void split_offsets(Region& region) {
    std::vector<Node> nodes;
    const auto outer = std::exchange(anchors_, {});
    for (Node& node : region.nodes) {
      if (auto* op = std::get_if<Op>(&node)) split_offset(nodes, *op);
      for_each_region(node, [&](Region& inner) { split_offsets(inner); });
      nodes.push_back(std::move(node));
    }
    region.nodes = std::move(nodes);
    anchors_ = outer;
  }

  /// The multiple of a power of two, the largest there is, from which rows reach the operation's
  /// offset; else that offset itself.
  Length anchor(Op op) const {
    const Length whole = op.offset;
    for (int64_t unit = int64_t{1} << 16; unit > 1 && whole.is_fixed(); unit /= 2) {
      const int64_t below = whole.fixed / unit * unit;
      for (const int64_t base : {below, below + unit}) {
        op.offset = whole.fixed - base;
        if (base != 0 && op.offset != Length{} && has_row(op)) return base;
      }
    }
    op.offset = whole;
    if (!whole.is_fixed()) return scalable_anchor(op);
    // Rows of other vectors reach most offsets, in bytes.
    return program_.isa->vector_bytes.is_fixed() ? whole : rest_anchor(op);
  }

  /// What the offset is beyond a multiple of a power of two, the smallest there is, where rows
  /// reach that; else the offset itself.
  Length rest_anchor(Op op) const {
    const Length whole = op.offset;
    for (int64_t unit = 2; unit < whole.fixed; unit *= 2) {
      op.offset = whole.fixed / unit * unit;
      if (op.offset != whole && has_row(op)) return whole - op.offset;
    }
    return whole;
  }

  /// Likewise of vector lengths, from below, and one that a row adds to a pointer.
  Length scalable_anchor(Op op) const {
    const Length whole = op.offset;
    Op step;
    step.code = OpCode::iadd_imm;
    step.args = step.results = {op.args[info(op.code).args.find('s')]};
    for (int64_t unit = 2; whole.fixed == 0 && unit <= whole.vl + whole.svl; unit *= 2) {
      op.offset = {0, whole.vl / unit * unit, whole.svl / unit * unit};
      step.offset = whole - op.offset;
      if (step.offset != Length{} && has_row(op) && has_row(step)) return step.offset;
    }
    for (int64_t unit = int64_t{1} << 16; unit > 1; unit /= 2) {
      step.offset = {0, whole.vl / unit * unit, whole.svl / unit * unit};
      op.offset = whole - step.offset;
      if (step.offset != Length{} && has_row(op) && has_row(step)) return step.offset;
    }
    return whole;
  }

  /// Lengths that no row can encode: so many times one that a row can, by a shift if possible.
  void split_length(std::vector<Node>& nodes, Op& op) {
    const int64_t times = times_a_row(op);
    if (times == 0) return;
    const Value unit =
        append(nodes, {.code = OpCode::length, .offset = op.offset.divided(times)}, "part");
    op.offset = 0;
    if (std::has_single_bit(static_cast<uint64_t>(times))) {
      op.code = OpCode::ishl;
      op.args = {unit};
      op.imm = std::countr_zero(static_cast<uint64_t>(times));
    } else {
      op.code = OpCode::imul;
      op.args = {unit, append(nodes, {.code = OpCode::constant, .imm = times}, "times")};
    }
  }

  /// The least such number, powers of two first; 0: none.
  int64_t times_a_row(const Op& op) const {
    const auto reaches = [&](int64_t times) {
      Op part = op;
      part.offset = op.offset.divided(times);
      return op.offset.divisible(times) && has_row(part);
    };
    const int64_t most = std::max({op.offset.fixed, op.offset.vl, op.offset.svl});
    for (int64_t times = 2; times <= most && op.offset.divisible(times); times *= 2) {
      if (reaches(times)) return times;
    }
    for (int64_t times = 3; times <= most; ++times) {
      if (reaches(times)) return times;
    }
    return 0;
  }

  void split_offset(std::vector<Node>& nodes, Op& op) {
    if (op.row != nullptr || op.offset == Length{} || has_row(op)) return;
    if (op.code == OpCode::length) return split_length(nodes, op);
    const size_t at = info(op.code).args.find('s');
    const std::string hint = program_.values[static_cast<size_t>(op.args[at])].name;
    if (op.code == OpCode::iadd_imm && from_an_anchor(op)) return;
    if (op.code == OpCode::iadd_imm) {
      op.args.push_back(step_value(nodes, op.offset));
      op.code = OpCode::iadd;
      op.offset = 0;
      return;
    }
    const Length base = anchor(op);
    const Length rest = op.offset - base;
    const Value pointer = op.args[at];
    // Neighbors share an anchor.
    const Anchor key{pointer, base.fixed, base.vl, base.svl};
    const auto known = anchors_.find(key);
    op.offset = rest;
    if (known != anchors_.end()) {
      op.args[at] = known->second;
      return;
    }
    Op step{.code = OpCode::iadd_imm, .args = {pointer}, .offset = base};
    op.args[at] = program_.add_value({Kind::scalar, 8}, hint, Role::address);
    step.results = {op.args[at]};
    split_offset(nodes, step);
    nodes.emplace_back(std::move(step));
    anchors_[key] = op.args[at];
  }

  /// Steps of a pointer may begin at one of its anchors.
  bool from_an_anchor(Op& op) const {
    for (const auto& [key, value] : anchors_) {
      const auto& [pointer, fixed, vl, svl] = key;
      Op rest = op;
      rest.offset = op.offset - Length{fixed, vl, svl};
      if (pointer != op.args[0] || !has_row(rest)) continue;
      op.offset = rest.offset;
      op.args[0] = value;
      return true;
    }
    return false;
  }

  Value step_value(std::vector<Node>& nodes, Length bytes) {
    const Op fixed{.code = OpCode::constant, .imm = bytes.fixed};
    const Op length{.code = OpCode::length, .offset = bytes};
    return append(nodes, bytes.is_fixed() ? fixed : length, "step");
  }

  Program& program_;
  Rows rows_;
  std::vector<int> uses_;
  /// Sums of a pointer and a constant in the region at hand.
  using Anchor = std::tuple<Value, int64_t, int64_t, int64_t>;
  std::map<Anchor, Value> anchors_;
};

}  // namespace

Selection select(Program& program, const SelectOptions& options) {
  Selection made;
  drop_unused(program);
  if (options.loads_per_row == 0) {
    made.chained = chain_post_increments(program, options.only_neighbors);
  }
  Selector(program, options).run();
  for_each_op(program.body, [&](const Op& op) {
    if (op.row == nullptr) return;
    made.loads_per_row = std::max(made.loads_per_row, loads_of(*op.row, roots(*op.row)));
  });
  return made;
}

}  // namespace tw
