// A core that issues in order, as it goes through instructions.
#pragma once

#include <vector>

#include "model/core.h"
#include "schedule/cost.h"

namespace tw {

/// An instruction waits for its arguments, for dispatch slots, for ports, and so long that nothing
/// of it is written before what earlier instructions write. What costs() gives for a row goes
/// through one after another.
class InOrderIssue {
 public:
  explicit InOrderIssue(const CoreModel& core) : width_(core.width), free_(core.ports.size(), 0) {}

  /// The cycle in which a row would issue whose arguments are there in cycle `ready`.
  [[nodiscard]] int when(const std::vector<IssueClass>& costs, WriteLatency writes,
                         int ready) const;
  /// Issues it in that cycle. Returns the cycle from which the latency of the whole row counts.
  int issue(const std::vector<IssueClass>& costs, WriteLatency writes, int ready);
  [[nodiscard]] int cycle() const { return cycle_; }

 private:
  [[nodiscard]] int when_one(const IssueClass& cost, WriteLatency writes, int ready) const;
  int issue_one(const IssueClass& cost, WriteLatency writes, int ready);
  [[nodiscard]] bool fits(const IssueClass& cost, int at) const;
  [[nodiscard]] size_t next_free(const PortUse& use) const;

  int width_;
  std::vector<int> free_;  ///< per port: first cycle in which it can take something
  int cycle_ = 0;
  int slots_ = 0;       ///< taken in this cycle
  bool began_ = false;  ///< something issued in this cycle
  int written_ = 0;     ///< when the last result so far is written
};

}  // namespace tw
