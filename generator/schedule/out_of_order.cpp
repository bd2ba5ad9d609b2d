#include "schedule/out_of_order.h"

#include <algorithm>
#include <deque>
#include <functional>
#include <queue>
#include <unordered_map>

#include "schedule/cost.h"

namespace tw {
namespace {

/// In which cycles a port is taken.
class PortTime {
 public:
  explicit PortTime(const CoreModel& core)
      : taken_(core.ports.size()), used_(core.ports.size(), 0) {}

  /// The first cycle from `from` on in which all of them can begin; takes them.
  int take(const std::vector<PortUse>& uses, int from) {
    std::vector<size_t> chosen;
    int at = from;
    while (!find(uses, at, chosen)) ++at;
    for (size_t i = 0; i < uses.size(); ++i) mark(chosen[i], at, uses[i].cycles);
    return at;
  }

 private:
  bool find(const std::vector<PortUse>& uses, int at, std::vector<size_t>& chosen) const {
    chosen.clear();
    for (const PortUse& use : uses) {
      const size_t port = least_used(use, at, chosen);
      if (port == taken_.size()) return false;
      chosen.push_back(port);
    }
    return true;
  }
  /// Of the ports that are free, the one that had least to do; taken_.size(): none is.
  [[nodiscard]] size_t least_used(const PortUse& use, int at,
                                  const std::vector<size_t>& chosen) const {
    size_t best = taken_.size();
    for (const int p : use.ports) {
      const auto port = static_cast<size_t>(p);
      if (std::find(chosen.begin(), chosen.end(), port) != chosen.end()) continue;
      if (!is_free(port, at, use.cycles)) continue;
      if (best == taken_.size() || used_[port] < used_[best]) best = port;
    }
    return best;
  }
  [[nodiscard]] bool is_free(size_t port, int at, int cycles) const {
    const std::vector<bool>& taken = taken_[port];
    for (auto c = static_cast<size_t>(at); c < static_cast<size_t>(at + cycles); ++c) {
      if (c < taken.size() && taken[c]) return false;
    }
    return true;
  }
  void mark(size_t port, int at, int cycles) {
    std::vector<bool>& taken = taken_[port];
    const auto end = static_cast<size_t>(at + cycles);
    if (taken.size() < end) taken.resize(2 * end);
    for (auto c = static_cast<size_t>(at); c < end; ++c) taken[c] = true;
    used_[port] += cycles;
  }

  std::vector<std::vector<bool>> taken_;
  std::vector<int> used_;  ///< cycles so far
};

/// Instructions enter in order, `width` micro-operations a cycle, while there is room in the window
/// and, for those that need its ports, in the queue before them.
class Front {
 public:
  explicit Front(const CoreModel& core) : core_(core) {}

  int enter(const IssueClass& cost) {
    int at = cycle_;
    for (int i = 0; i < cost.micro_ops; ++i) {
      if (static_cast<int>(leaving_.size()) < core_.window) break;
      at = std::max(at, leaving_.front());
      leaving_.pop_front();
    }
    if (waits(cost)) {
      while (!waiting_.empty() && waiting_.top() <= at) waiting_.pop();
      while (static_cast<int>(waiting_.size()) >= core_.queue.cycles) {
        at = std::max(at, waiting_.top());
        waiting_.pop();
      }
    }
    if (at > cycle_) slots_ = 0;
    cycle_ = at;
    slots_ += cost.micro_ops;
    for (; slots_ > core_.width; slots_ -= core_.width) ++cycle_;
    return cycle_;
  }
  void leave(const IssueClass& cost, int issued, int done) {
    if (waits(cost)) waiting_.push(issued);
    left_ = std::max(left_, done);
    leaving_.insert(leaving_.end(), static_cast<size_t>(cost.micro_ops), left_);
  }
  /// When the last one so far leaves the window.
  [[nodiscard]] int left() const { return left_; }

 private:
  [[nodiscard]] bool waits(const IssueClass& cost) const {
    const std::vector<int>& ports = core_.queue.ports;
    return std::any_of(cost.uses.begin(), cost.uses.end(), [&](const PortUse& use) {
      return std::find(ports.begin(), ports.end(), use.ports.front()) != ports.end();
    });
  }

  const CoreModel& core_;
  int cycle_ = 0, slots_ = 0, left_ = 0;
  std::deque<int> leaving_;  ///< per micro-operation in the window
  std::priority_queue<int, std::vector<int>, std::greater<>> waiting_;  ///< until then
};

class OutOfOrderLoop {
 public:
  OutOfOrderLoop(const Program& program, const Loop& loop, const CoreModel& core)
      : isa_(*program.isa),
        loop_(loop),
        core_(core),
        control_(loop_control(isa_, core)),
        ports_(core),
        front_(core) {
    for (const Node& node : loop_.body.nodes) {
      const auto* op = std::get_if<Op>(&node);
      if (op != nullptr && op->row != nullptr) timed_.push_back(timed(*op));
    }
  }

  double run() {
    constexpr int warm_up = 6;
    constexpr int measured = 10;
    int begin = 0;
    for (int i = 0; i < warm_up + measured; ++i) {
      if (i == warm_up) begin = front_.left();
      iteration();
    }
    return static_cast<double>(front_.left() - begin) / measured;
  }

 private:
  /// What is the same in every iteration.
  struct Timed {
    const Op* op = nullptr;
    std::vector<IssueClass> lines;
    int shortest = 0;         ///< from one of its arguments to its result, or from where it begins
    std::vector<int> behind;  ///< per argument: cycles more than that
  };

  [[nodiscard]] Timed timed(const Op& op) const {
    Timed all{&op, costs(isa_, core_, *op.row), 1, std::vector<int>(op.args.size(), 0)};
    if (op.results.empty()) return all;
    all.shortest = result_latency(isa_, core_, op, 0);
    for (size_t a = 0; a < op.args.size(); ++a) {
      all.behind[a] = latency(isa_, core_, op, a, 0);
      all.shortest = std::min(all.shortest, all.behind[a]);
    }
    for (int& cycles : all.behind) cycles -= all.shortest;
    return all;
  }

  void iteration() {
    for (const Timed& op : timed_) issue(op);
    for (const IssueClass& cost : control_) {
      counter_ = issue_line(cost, front_.enter(cost), counter_) + cost.latency;
    }
    std::vector<int> next;
    for (const Value v : loop_.yields) next.push_back(ready_of(v));
    for (size_t i = 0; i < next.size(); ++i) ready_[loop_.params[i]] = next[i];
  }

  /// Ports are taken when the last of its micro-operations, behind a load if it has one, begins.
  void issue(const Timed& timed) {
    const Op& op = *timed.op;
    const std::vector<IssueClass>& lines = timed.lines;
    const int entered = lines.empty() ? 0 : front_.enter(lines.front());
    int from = entered;
    for (size_t a = 0; a < op.args.size(); ++a) {
      from = std::max(from, std::max(entered, ready_of(op.args[a])) + timed.behind[a]);
    }
    int at = from;
    for (size_t i = 0; i < lines.size(); ++i) {
      at = issue_line(lines[i], i == 0 ? entered : front_.enter(lines[i]), from);
      from = at + lines[i].latency;
    }
    const int done = lines.size() == 1 ? at + timed.shortest : from;
    for (size_t r = 0; r < op.results.size(); ++r) {
      const bool pointer = r > 0 && lines.size() == 1;  // a step beside a load
      ready_[op.results[r]] = pointer ? entered + 1 : done;
    }
  }

  int issue_line(const IssueClass& cost, int entered, int from) {
    const int at = ports_.take(cost.uses, std::max(entered, from));
    front_.leave(cost, at, at + cost.latency);
    return at;
  }

  [[nodiscard]] int ready_of(Value v) const {
    const auto at = ready_.find(v);
    return at == ready_.end() ? 0 : at->second;
  }

  const Isa& isa_;
  const Loop& loop_;
  const CoreModel& core_;
  std::vector<IssueClass> control_;
  std::vector<Timed> timed_;
  PortTime ports_;
  Front front_;
  int counter_ = 0;
  std::unordered_map<Value, int> ready_;
};

}  // namespace

double out_of_order_cycles(const Program& program, const Loop& loop, const CoreModel& core) {
  return OutOfOrderLoop(program, loop, core).run();
}

}  // namespace tw
