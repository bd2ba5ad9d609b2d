#include "schedule/list_schedule.h"

#include <algorithm>
#include <set>
#include <unordered_map>

#include "schedule/effects.h"
#include "schedule/in_order.h"
#include "schedule/rows.h"

namespace tw {
namespace {

class Scheduler {
 public:
  Scheduler(const Program& program, const Loop& loop, const CoreModel& core, int limit)
      : program_(program), loop_(loop), core_(core), limit_(limit), issue_(core) {
    for (const Node& node : loop.body.nodes) ops_.push_back(&std::get<Op>(node));
    graph_ = dependences(program, ops_);
    for (size_t i = 0; i < ops_.size(); ++i) {
      for (Value v : ops_[i]->args) users_[v].push_back(static_cast<int>(i));
    }
    for (const Op* it : ops_) {
      costs_.push_back(it->row == nullptr ? std::vector<IssueClass>(1)
                                          : costs(*program.isa, core, *it->row));
      writes_.push_back(write_latency(*program.isa, core, *it));
    }
    keep_registers();
    measure_heights();
    count_values();
  }

  std::vector<int> run() {
    const size_t n = ops_.size();
    std::vector<size_t> waits(n);
    earliest_.assign(n, 0);
    std::set<int> ready;
    for (size_t i = 0; i < n; ++i) {
      waits[i] = graph_.before[i].size();
      if (waits[i] == 0) ready.insert(static_cast<int>(i));
    }
    std::vector<int> order;
    while (!ready.empty()) {
      const int chosen = best(ready);
      ready.erase(chosen);
      order.push_back(chosen);
      const int at = issue(chosen);
      for (int next : graph_.after[static_cast<size_t>(chosen)]) {
        const auto to = static_cast<size_t>(next);
        earliest_[to] = std::max(earliest_[to], at + delay(chosen, next));
        if (--waits[to] == 0) ready.insert(next);
      }
    }
    return order;
  }

 private:
  const Op& op(int i) const { return *ops_[static_cast<size_t>(i)]; }

  void edge(int from, int to) {
    if (from == to) return;
    graph_.after[static_cast<size_t>(from)].push_back(to);
    graph_.before[static_cast<size_t>(to)].push_back(from);
  }

  /// Users of a value whose register is overwritten come before what overwrites it.
  void keep_registers() {
    std::unordered_map<Value, int> definition;
    for (size_t i = 0; i < ops_.size(); ++i) {
      for (Value v : ops_[i]->results) definition[v] = static_cast<int>(i);
    }
    for (size_t p = 0; p < loop_.params.size(); ++p) {
      const auto at = definition.find(loop_.yields[p]);
      if (at != definition.end()) overwrites(loop_.params[p], at->second);
    }
    for (size_t i = 0; i < ops_.size(); ++i) {
      if (ops_[i]->row == nullptr) continue;
      for (const Operand& result : result_operands(*ops_[i]->row)) {
        if (result.tied.empty()) continue;
        const int arg = argument_index(*ops_[i]->row, result.tied);
        overwrites(ops_[i]->args[static_cast<size_t>(arg)], static_cast<int>(i));
      }
    }
  }

  void overwrites(Value v, int at) {
    // Later users stay later; they get a copy anyway.
    for (int user : users_[v]) {
      if (user < at) edge(user, at);
    }
  }

  int delay(int from, int to) const {
    int longest = 0;
    const Op& a = op(from);
    for (size_t r = 0; r < a.results.size(); ++r) {
      const auto& args = op(to).args;
      if (std::find(args.begin(), args.end(), a.results[r]) == args.end()) continue;
      if (a.args.empty()) longest = std::max(longest, 1);
      for (size_t i = 0; i < a.args.size(); ++i) {
        longest = std::max(longest, latency(*program_.isa, core_, a, i, r));
      }
    }
    return longest;
  }

  void measure_heights() {
    height_.assign(ops_.size(), 0);
    for (int i = static_cast<int>(ops_.size()) - 1; i >= 0; --i) {
      for (int next : graph_.after[static_cast<size_t>(i)]) {
        height_[static_cast<size_t>(i)] =
            std::max(height_[static_cast<size_t>(i)],
                     height_[static_cast<size_t>(next)] + std::max(delay(i, next), 1));
      }
    }
  }

  bool is_vector(Value v) const { return program_.type(v).kind == Kind::vector; }

  /// Vectors that live when the body begins, and uses left of each.
  void count_values() {
    std::set<Value> inside;
    for (const Op* it : ops_) inside.insert(it->results.begin(), it->results.end());
    for (const auto& [v, list] : users_) {
      if (!is_vector(v)) continue;
      uses_[v] = static_cast<int>(list.size());
      const bool is_param =
          std::find(loop_.params.begin(), loop_.params.end(), v) != loop_.params.end();
      if (inside.contains(v)) continue;
      ++live_;
      if (!is_param) ++uses_[v];  // from outside: never dies
    }
    for (Value v : loop_.yields) {
      if (is_vector(v)) ++uses_[v];
    }
  }

  int growth(int i) const {
    int delta = 0;
    for (Value v : op(i).results) delta += is_vector(v) && uses_.contains(v);
    const Operands& args = op(i).args;
    for (auto v = args.begin(); v != args.end(); ++v) {
      const bool is_first = std::find(args.begin(), v, *v) == v;
      if (is_first && is_vector(*v) && uses_.at(*v) == 1) --delta;
    }
    return delta;
  }

  int start(int i) const {
    const auto n = static_cast<size_t>(i);
    return issue_.when(costs_[n], writes_[n], earliest_[n]);
  }

  /// What fits the registers, then what can issue first, then the longest chain, then as it came.
  int best(const std::set<int>& ready) const {
    int chosen = -1;
    bool chosen_fits = false;
    int chosen_start = 0;
    for (int i : ready) {
      const int grows = growth(i);
      const bool fits = grows <= 0 || live_ + grows <= limit_;
      const int at = start(i);
      const bool better =
          chosen < 0 || (fits != chosen_fits  ? fits
                         : at != chosen_start ? at < chosen_start
                                              : height_[static_cast<size_t>(i)] >
                                                    height_[static_cast<size_t>(chosen)]);
      if (!better) continue;
      chosen = i;
      chosen_fits = fits;
      chosen_start = at;
    }
    return chosen;
  }

  int issue(int i) {
    const auto n = static_cast<size_t>(i);
    live_ += growth(i);
    for (Value v : op(i).args) {
      if (is_vector(v)) --uses_[v];
    }
    return issue_.issue(costs_[n], writes_[n], earliest_[n]);
  }

  const Program& program_;
  const Loop& loop_;
  const CoreModel& core_;
  int limit_;
  std::vector<const Op*> ops_;
  Dependences graph_;
  std::unordered_map<Value, std::vector<int>> users_;
  std::unordered_map<Value, int> uses_;  ///< vectors: uses to come, yields included
  std::vector<std::vector<IssueClass>> costs_;
  std::vector<WriteLatency> writes_;
  std::vector<int> height_, earliest_;
  InOrderIssue issue_;
  int live_ = 0;
};

}  // namespace

void list_schedule(const Program& program, Loop& loop, const CoreModel& core, int limit) {
  const std::vector<int> order = Scheduler(program, loop, core, limit).run();
  std::vector<Node> nodes;
  for (int i : order) nodes.push_back(std::move(loop.body.nodes[static_cast<size_t>(i)]));
  loop.body.nodes = std::move(nodes);
}

}  // namespace tw
