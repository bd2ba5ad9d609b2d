#include "schedule/in_order.h"

#include <algorithm>

namespace tw {
namespace {

/// Of the first of several instructions: its own result.
WriteLatency first_of(const std::vector<IssueClass>& costs, WriteLatency whole) {
  return costs.size() == 1 ? whole : WriteLatency{costs[0].latency, costs[0].latency};
}

}  // namespace

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

int InOrderIssue::when_one(const IssueClass& cost, WriteLatency writes, int ready) const {
  int at = std::max(ready, cycle_);
  if (!cost.late) at = std::max(at, written_ - writes.first);
  while (!fits(cost, at)) ++at;
  return at;
}

int InOrderIssue::issue_one(const IssueClass& cost, WriteLatency writes, int ready) {
  const int at = when_one(cost, writes, ready);
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

int InOrderIssue::when(const std::vector<IssueClass>& costs, WriteLatency writes, int ready) const {
  return when_one(costs.front(), first_of(costs, writes), ready);
}

int InOrderIssue::issue(const std::vector<IssueClass>& costs, WriteLatency writes, int ready) {
  int at = issue_one(costs.front(), first_of(costs, writes), ready);
  int before = 0;  // latency of what came before, of the same row
  for (size_t i = 1; i < costs.size(); ++i) {
    const int latency = costs[i].latency;
    before += costs[i - 1].latency;
    at = issue_one(costs[i], {latency, latency}, at + costs[i - 1].latency);
  }
  return at - before;
}

}  // namespace tw
