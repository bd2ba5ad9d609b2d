#include "tuner/winners.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "tuner/evidence.h"

namespace tw::tuner {
namespace {

/// A matrix on one kind of core: what is known of each number of rows.
using Cells = std::map<size_t, CellEvidence>;

bool is_about(const Record& r, const Core& core, const Wanted& wanted) {
  return r.outcome == Outcome::ok && identity(r.core) == identity(core) && is_of_matrix(r, wanted);
}

Cells cells_for(const std::vector<Record>& records, const Core& core, const Wanted& wanted) {
  const std::set<uint64_t> failed = failed_kernels(records, identity(core));
  std::map<size_t, std::vector<const Record*>> by_rows;
  for (const Record& r : records) {
    if (is_about(r, core, wanted) && failed.count(r.ran.hash) == 0) {
      by_rows[r.problem.m].push_back(&r);
    }
  }
  Cells cells;
  for (const Calls& c : wanted.mix) {
    const auto found = by_rows.find(c.m);
    if (found == by_rows.end()) continue;
    const CellEvidence cell = cell_evidence(found->second);
    if (cell.baseline_ns > 0) cells[c.m] = cell;  // else nothing says how long it takes
  }
  return cells;
}

/// Time of the whole mix by layout, of those that were measured for all of its rows.
std::map<uint64_t, TotalTime> total_times(const Cells& cells, const Wanted& wanted) {
  std::map<uint64_t, TotalTime> totals;
  std::map<uint64_t, size_t> measured;
  for (const Calls& c : wanted.mix) {
    const auto cell = cells.find(c.m);
    if (cell == cells.end()) continue;
    std::set<uint64_t> layouts;
    for (const Evidence& e : cell->second.configurations) layouts.insert(e.run.layout);
    for (const uint64_t layout : layouts) {
      const Estimate& faster = best_of(cell->second, layout)->faster;
      totals[layout].add(c.calls * cell->second.baseline_ns / std::exp(faster.log), faster.width);
      ++measured[layout];
    }
  }
  for (const auto& [layout, count] : measured) {
    if (count < cells.size()) totals.erase(layout);
  }
  return totals;
}

/// Of what the plan does by itself with the rows that take longest.
uint64_t own_layout(const Cells& cells, const Wanted& wanted) {
  uint64_t own = 0;
  double longest = 0;
  for (const Calls& c : wanted.mix) {
    const auto cell = cells.find(c.m);
    if (cell == cells.end() || c.calls * cell->second.baseline_ns <= longest) continue;
    longest = c.calls * cell->second.baseline_ns;
    own = cell->second.baseline_layout();
  }
  return own;
}

Choice choice_of(const Cells& cells, const Wanted& wanted) {
  Choice choice;
  choice.layout = best_layout(total_times(cells, wanted), own_layout(cells, wanted));
  if (choice.layout == 0) return choice;
  for (const Calls& c : wanted.mix) {
    const auto cell = cells.find(c.m);
    if (cell == cells.end()) continue;
    const Evidence& best = *best_of(cell->second, choice.layout);
    const double baseline_ns = cell->second.baseline_ns;
    choice.rows.push_back({c.m, c.calls, Rung::exact, best.run,
                           baseline_ns / std::exp(best.faster.log), best.faster.width,
                           baseline_ns});
  }
  return choice;
}

}  // namespace

std::vector<Winner> winners(const std::vector<Record>& records,
                            const std::vector<Wanted>& workload) {
  std::vector<Winner> all;
  std::set<std::string> cores;
  std::set<size_t> threads;
  for (const Record& r : records) threads.insert(r.threads);
  for (const Record& of_core : records) {
    if (!cores.insert(identity(of_core.core)).second) continue;
    for (Wanted wanted : workload) {
      for (const size_t count : threads) {
        wanted.threads = count;
        const Choice choice = choice_of(cells_for(records, of_core.core, wanted), wanted);
        if (!choice.rows.empty()) all.push_back({of_core.core, wanted, choice});
      }
    }
  }
  return all;
}

}  // namespace tw::tuner
