#include "schedule/in_order.h"

#include <algorithm>

namespace tw {

size_t InOrderIssue::next_free(const PortUse& use) const {
  return static_cast<size_t>(*std::min_element(
      use.ports.begin(), use.ports.end(),
      [&](int a, int b) { return free_[static_cast<size_t>(a)] < free_[static_cast<size_t>(b)]; }));
}

bool InOrderIssue::fits(const IssueClass& cost, int at) const {
  const bool same_cycle = at == cycle_;
  if (same_cycle && began_ && cost.first) return false;
  // What takes more slots than a cycle has goes on in the next one.
  if (same_cycle && cost.micro_ops <= width_ && slots_ + cost.micro_ops > width_) return false;
  return std::all_of(cost.uses.begin(), cost.uses.end(),
                     [&](const PortUse& use) { return free_[next_free(use)] <= at; });
}

int InOrderIssue::when(const IssueClass& cost, WriteLatency writes, int ready) const {
  int at = std::max(ready, cycle_);
  if (!cost.late) at = std::max(at, written_ - writes.first);
  while (!fits(cost, at)) ++at;
  return at;
}

int InOrderIssue::issue(const IssueClass& cost, WriteLatency writes, int ready) {
  const int at = when(cost, writes, ready);
  if (at > cycle_) slots_ = 0;
  cycle_ = at;
  began_ = true;
  for (const PortUse& use : cost.uses) free_[next_free(use)] = at + use.cycles;
  if (!cost.late) written_ = std::max(written_, at + writes.last);
  slots_ += cost.micro_ops;
  for (; slots_ > width_; slots_ -= width_) {
    ++cycle_;
    began_ = false;
  }
  return at;
}

}  // namespace tw
