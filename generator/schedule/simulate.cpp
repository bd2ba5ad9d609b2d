#include "schedule/simulate.h"

#include <algorithm>
#include <bit>
#include <cstdint>
#include <map>
#include <unordered_map>

#include "schedule/in_order.h"
#include "schedule/out_of_order.h"

namespace tw {

namespace {

/// Cycles by the set of ports that can give them, as bits.
std::map<uint32_t, double> demand(const std::vector<IssueClass>& classes) {
  std::map<uint32_t, double> needs;
  for (const IssueClass& it : classes) {
    for (const PortUse& use : it.uses) {
      uint32_t ports = 0;
      for (int port : use.ports) ports |= uint32_t{1} << port;
      needs[ports] += use.cycles;
    }
  }
  return needs;
}

std::vector<IssueClass> costs_of(const Program& program, const Loop& loop, const CoreModel& core) {
  std::vector<IssueClass> all = loop_control(*program.isa, core);
  for (const Node& node : loop.body.nodes) {
    const auto* op = std::get_if<Op>(&node);
    if (op == nullptr || op->row == nullptr) continue;
    const std::vector<IssueClass> its = costs(*program.isa, core, *op->row);
    all.insert(all.end(), its.begin(), its.end());
  }
  return all;
}

/// Spreads cycles over ports, always on the one that has least to do.
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
  constexpr int never = -1;
  double longest = 0;
  std::vector<int> reached;  ///< per value
  for (size_t i = 0; i < loop.params.size(); ++i) {
    reached.assign(program.values.size(), never);
    const auto at = [&](Value v) -> int& { return reached[static_cast<size_t>(v)]; };
    at(loop.params[i]) = 0;
    for (const Node& node : loop.body.nodes) {
      const auto* op = std::get_if<Op>(&node);
      if (op == nullptr) continue;
      for (size_t a = 0; a < op->args.size(); ++a) {
        const int start = at(op->args[a]);
        if (start == never) continue;
        for (size_t r = 0; r < op->results.size(); ++r) {
          int& result = at(op->results[r]);
          result = std::max(result, start + latency(*program.isa, core, *op, a, r));
        }
      }
    }
    longest = std::max(longest, static_cast<double>(at(loop.yields[i])));
  }
  return longest;
}

/// Issues a loop's instructions one after another, again and again.
class InOrderLoop {
 public:
  InOrderLoop(const Program& program, const Loop& loop, const CoreModel& core)
      : loop_(loop), control_(loop_control(*program.isa, core)), issue_(core) {
    for (const Node& node : loop.body.nodes) {
      const auto* op = std::get_if<Op>(&node);
      if (op == nullptr || op->row == nullptr) continue;
      Timed timed;
      timed.op = op;
      timed.costs = costs(*program.isa, core, *op->row);
      timed.writes = write_latency(*program.isa, core, *op);
      for (size_t r = 0; r < op->results.size(); ++r) {
        timed.latencies.push_back(result_latency(*program.isa, core, *op, r));
      }
      body_.push_back(std::move(timed));
    }
  }

  double run() {
    constexpr int warm_up = 4;
    constexpr int measured = 8;
    int begin = 0;
    for (int i = 0; i < warm_up + measured; ++i) {
      if (i == warm_up) begin = issue_.cycle();
      iteration();
    }
    return static_cast<double>(issue_.cycle() - begin) / measured;
  }

 private:
  struct Timed {
    const Op* op = nullptr;
    std::vector<IssueClass> costs;
    WriteLatency writes;
    std::vector<int> latencies;  ///< per result
  };

  void iteration() {
    for (const Timed& it : body_) {
      int ready = 0;
      for (Value v : it.op->args) ready = std::max(ready, ready_of(v));
      const int at = issue_.issue(it.costs, it.writes, ready);
      for (size_t r = 0; r < it.op->results.size(); ++r) {
        ready_[it.op->results[r]] = at + it.latencies[r];
      }
    }
    int flags = 0;  // each line waits for the one before
    for (const IssueClass& it : control_) {
      flags = issue_.issue({it}, {it.latency, it.latency}, flags) + it.latency;
    }
    std::vector<int> next;
    for (Value v : loop_.yields) next.push_back(ready_of(v));
    for (size_t i = 0; i < next.size(); ++i) ready_[loop_.params[i]] = next[i];
  }

  int ready_of(Value v) const {
    const auto at = ready_.find(v);
    return at == ready_.end() ? 0 : at->second;
  }

  const Loop& loop_;
  std::vector<Timed> body_;
  std::vector<IssueClass> control_;
  InOrderIssue issue_;
  std::unordered_map<Value, int> ready_;
};

const Loop* find_around(const Region& region, const Loop& wanted, const Loop* around) {
  for (const Node& node : region.nodes) {
    const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node);
    if (loop == nullptr) continue;
    if (loop->get() == &wanted) return around;
    const Loop* found = find_around((*loop)->body, wanted, loop->get());
    if (found != nullptr) return found;
  }
  return nullptr;
}

}  // namespace

const Loop* hottest_loop(const Program& program) {
  const Loop* best = nullptr;
  for_each_loop(program.body, [&](const Loop& loop) {
    if (loop.hot && (best == nullptr || loop.macs > best->macs)) best = &loop;
  });
  return best;
}

const Loop* loop_around(const Program& program, const Loop& loop) {
  return find_around(program.body, loop, nullptr);
}

double port_cycles(const std::vector<IssueClass>& all) {
  const std::map<uint32_t, double> needs = demand(all);
  // Hall's condition: what only some ports can take fits in no fewer cycles than it needs per such
  // port. Unions of the sets that occur are all that can bind.
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
  const std::vector<IssueClass> all = costs_of(program, loop, core);
  double micro_ops = 0;
  for (const IssueClass& it : all) micro_ops += it.micro_ops;
  Bounds found;
  found.ports = port_cycles(all);
  found.dispatch = micro_ops / core.width;
  found.latency = longest_recurrence(program, loop, core);
  found.port_load = spread(demand(all), core.ports.size());
  return found;
}

double cycles_per_iteration(const Program& program, const Loop& loop, const CoreModel& core) {
  if (core.in_order) return InOrderLoop(program, loop, core).run();
  const Bounds all = bounds(program, loop, core);
  const double least = std::max({all.ports, all.dispatch, all.latency});
  return core.window == 0 ? least : std::max(least, out_of_order_cycles(program, loop, core));
}

}  // namespace tw
