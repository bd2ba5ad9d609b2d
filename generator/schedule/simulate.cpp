#include "schedule/simulate.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "schedule/rows.h"

namespace tw {

const IssueClass& issue_class(const CoreModel& core, const std::string& name) {
  static const IssueClass nothing;
  const auto at = core.classes.find(name);
  return at == core.classes.end() ? nothing : at->second;
}

std::vector<const IssueClass*> loop_control(const Isa& isa, const CoreModel& core) {
  std::vector<const IssueClass*> classes;
  for (size_t i = 0; i < isa.rules.loop_end.size(); ++i) {
    const bool last = i + 1 == isa.rules.loop_end.size();
    classes.push_back(&issue_class(core, last ? "branch" : "scalar"));
  }
  return classes;
}

int latency(const Isa& isa, const CoreModel& core, const Op& op, size_t arg, size_t result) {
  if (op.row == nullptr) return 1;
  const IssueClass& whole = issue_class(core, op.row->issue_class);
  const std::string& argument = argument_operands(*op.row)[arg]->name;
  const Operand& made = *result_operands(*op.row)[result];
  if (made.tied == argument && whole.accumulate > 0) return whole.accumulate;
  if (op.row->means.size() == 1) return whole.latency;
  for (const MeansNode& node : op.row->means) {
    if (node.result != made.name) continue;
    if (node.code == OpCode::iadd_imm) return 1;
    const bool direct = std::any_of(node.args.begin(), node.args.end(),
                                    [&](const MeansArg& a) { return a.operand == argument; });
    const Row* alone = isa.row_for(node.code, node.bits, op.row->bytes);
    if (direct && alone != nullptr) return issue_class(core, alone->issue_class).latency;
  }
  return whole.latency;
}

int result_latency(const Isa& isa, const CoreModel& core, const Op& op, size_t result) {
  int longest = 1;
  for (size_t a = 0; a < op.args.size(); ++a) {
    longest = std::max(longest, latency(isa, core, op, a, result));
  }
  if (op.args.empty() && op.row != nullptr) {
    longest = std::max(longest, issue_class(core, op.row->issue_class).latency);
  }
  return longest;
}

WriteLatency write_latency(const Isa& isa, const CoreModel& core, const Op& op) {
  WriteLatency all;
  for (size_t r = 0; r < op.results.size(); ++r) {
    const int its = result_latency(isa, core, op, r);
    all.first = r == 0 ? its : std::min(all.first, its);
    all.last = std::max(all.last, its);
  }
  // A pointer's step beside a load is written at once.
  if (all.first == 1 && op.results.size() > 1) all.first = 0;
  return all;
}

namespace {

/// Micro-operations by the set of ports that can take them, as bits.
std::map<uint32_t, double> demand(const std::vector<const IssueClass*>& classes) {
  std::map<uint32_t, double> needs;
  for (const IssueClass* it : classes) {
    for (const PortUse& use : it->uses) {
      uint32_t ports = 0;
      for (int port : use.ports) ports |= uint32_t{1} << port;
      needs[ports] += use.count;
    }
  }
  return needs;
}

std::vector<const IssueClass*> classes_of(const Program& program, const Loop& loop,
                                          const CoreModel& core) {
  std::vector<const IssueClass*> classes;
  for (const Node& node : loop.body.nodes) {
    const auto* op = std::get_if<Op>(&node);
    if (op == nullptr || op->row == nullptr) continue;
    classes.push_back(&issue_class(core, op->row->issue_class));
  }
  for (const IssueClass* it : loop_control(*program.isa, core)) classes.push_back(it);
  return classes;
}

/// Spreads micro-operations over ports, always on the one that has least to do.
std::vector<double> spread(const std::map<uint32_t, double>& needs, size_t ports) {
  std::vector<double> load(ports, 0);
  std::vector<std::pair<uint32_t, double>> narrow_first(needs.begin(), needs.end());
  std::stable_sort(narrow_first.begin(), narrow_first.end(), [](const auto& a, const auto& b) {
    return std::popcount(a.first) < std::popcount(b.first);
  });
  for (const auto& [set, count] : narrow_first) {
    constexpr int parts = 64;
    for (int part = 0; part < parts; ++part) {
      size_t least = ports;
      for (size_t p = 0; p < ports; ++p) {
        if ((set >> p & 1) != 0 && (least == ports || load[p] < load[least])) least = p;
      }
      load[least] += count / parts;
    }
  }
  return load;
}

/// Longest chain from each loop variable to its own next value.
double longest_recurrence(const Program& program, const Loop& loop, const CoreModel& core) {
  double longest = 0;
  for (size_t i = 0; i < loop.params.size(); ++i) {
    std::unordered_map<Value, int> reached = {{loop.params[i], 0}};
    for (const Node& node : loop.body.nodes) {
      const auto* op = std::get_if<Op>(&node);
      if (op == nullptr) continue;
      for (size_t a = 0; a < op->args.size(); ++a) {
        const auto from = reached.find(op->args[a]);
        if (from == reached.end()) continue;
        const int start = from->second;
        for (size_t r = 0; r < op->results.size(); ++r) {
          int& at = reached.try_emplace(op->results[r], 0).first->second;
          at = std::max(at, start + latency(*program.isa, core, *op, a, r));
        }
      }
    }
    if (auto end = reached.find(loop.yields[i]); end != reached.end()) {
      longest = std::max(longest, static_cast<double>(end->second));
    }
  }
  return longest;
}

/// Issues instructions in order: each waits for its arguments, for a dispatch slot and for ports,
/// and so long that its results are not written before those of earlier instructions.
class InOrder {
 public:
  InOrder(const Program& program, const Loop& loop, const CoreModel& core)
      : isa_(*program.isa), loop_(loop), core_(core), free_(core.ports.size(), 0) {}

  double run() {
    constexpr int warm_up = 4;
    constexpr int measured = 8;
    int begin = 0;
    for (int i = 0; i < warm_up + measured; ++i) {
      if (i == warm_up) begin = cycle_;
      iteration();
    }
    return static_cast<double>(cycle_ - begin) / measured;
  }

 private:
  void iteration() {
    for (const Node& node : loop_.body.nodes) {
      const auto* op = std::get_if<Op>(&node);
      if (op == nullptr || op->row == nullptr) continue;
      int start = cycle_;
      for (Value v : op->args) start = std::max(start, ready_of(v));
      const WriteLatency writes = write_latency(isa_, core_, *op);
      if (!op->results.empty()) start = std::max(start, written_ - writes.first);
      const int at = issue(issue_class(core_, op->row->issue_class), start);
      for (size_t r = 0; r < op->results.size(); ++r) {
        ready_[op->results[r]] = at + result_latency(isa_, core_, *op, r);
      }
      if (!op->results.empty()) written_ = std::max(written_, at + writes.last);
    }
    const std::vector<const IssueClass*> control = loop_control(isa_, core_);
    for (size_t i = 0; i < control.size(); ++i) {
      // All but the jump write the counter.
      const bool writes = i + 1 < control.size();
      issue(*control[i], writes ? written_ - control[i]->latency : cycle_);
    }
    std::vector<int> next;
    for (Value v : loop_.yields) next.push_back(ready_of(v));
    for (size_t i = 0; i < next.size(); ++i) ready_[loop_.params[i]] = next[i];
  }

  int ready_of(Value v) const {
    const auto at = ready_.find(v);
    return at == ready_.end() ? 0 : at->second;
  }

  /// The cycle in which it issues.
  int issue(const IssueClass& what, int not_before) {
    int slots = 0;
    for (const PortUse& use : what.uses) slots += use.count;
    slots = std::clamp(slots, 1, core_.width);
    while (cycle_ < not_before || issued_ + slots > core_.width || !ports_free(what)) {
      ++cycle_;
      issued_ = 0;
    }
    for (const PortUse& use : what.uses) take(use);
    issued_ += slots;
    return cycle_;
  }

  bool ports_free(const IssueClass& what) const {
    return std::all_of(what.uses.begin(), what.uses.end(), [&](const PortUse& use) {
      return std::any_of(use.ports.begin(), use.ports.end(),
                         [&](int port) { return free_[static_cast<size_t>(port)] <= cycle_; });
    });
  }

  void take(const PortUse& use) {
    for (int i = 0; i < use.count; ++i) {
      const int port = *std::min_element(use.ports.begin(), use.ports.end(), [&](int a, int b) {
        return free_[static_cast<size_t>(a)] < free_[static_cast<size_t>(b)];
      });
      int& until = free_[static_cast<size_t>(port)];
      until = std::max(until, cycle_) + 1;
    }
  }

  const Isa& isa_;
  const Loop& loop_;
  const CoreModel& core_;
  std::vector<int> free_;  ///< first cycle in which a port can take something
  std::unordered_map<Value, int> ready_;
  int cycle_ = 0;
  int issued_ = 0;
  int written_ = 0;  ///< when the last result so far is written
};

}  // namespace

double port_cycles(const std::vector<const IssueClass*>& classes) {
  const std::map<uint32_t, double> needs = demand(classes);
  // Hall's condition: what only some ports can take fits in no fewer cycles than it has
  // micro-operations per such port. Unions of the sets that occur are all that can bind.
  std::vector<uint32_t> unions = {0};
  for (const auto& [set, unused] : needs) {
    for (size_t i = 0, n = unions.size(); i < n; ++i) unions.push_back(unions[i] | set);
    std::sort(unions.begin(), unions.end());
    unions.erase(std::unique(unions.begin(), unions.end()), unions.end());
  }
  double most = 0;
  for (uint32_t ports : unions) {
    if (ports == 0) continue;
    double work = 0;
    for (const auto& [set, count] : needs) {
      if ((set & ~ports) == 0) work += count;
    }
    most = std::max(most, work / std::popcount(ports));
  }
  return most;
}

Bounds bounds(const Program& program, const Loop& loop, const CoreModel& core) {
  const std::vector<const IssueClass*> classes = classes_of(program, loop, core);
  Bounds found;
  found.ports = port_cycles(classes);
  found.dispatch = static_cast<double>(classes.size()) / core.width;
  found.latency = longest_recurrence(program, loop, core);
  found.port_load = spread(demand(classes), core.ports.size());
  return found;
}

double cycles_per_iteration(const Program& program, const Loop& loop, const CoreModel& core) {
  const Bounds all = bounds(program, loop, core);
  const double bound = std::max({all.ports, all.dispatch, all.latency});
  return core.in_order ? std::max(bound, InOrder(program, loop, core).run()) : bound;
}

}  // namespace tw
