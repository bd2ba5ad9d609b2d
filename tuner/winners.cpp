#include "tuner/winners.h"

#include <fmt/format.h>

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
  const Problem& p = r.problem;
  return r.outcome == Outcome::ok && identity(r.core) == identity(core) &&
         p.family == wanted.family && p.n == wanted.n && p.k == wanted.k &&
         p.block == wanted.block && p.scales == wanted.scales && r.regime == wanted.regime &&
         r.threads == wanted.threads;
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
    if (found != by_rows.end()) cells[c.m] = cell_evidence(found->second);
  }
  return cells;
}

/// Time of the whole mix in a layout; 0: not all rows were measured with it.
double total_time(const Cells& cells, const Wanted& wanted, uint64_t layout) {
  double total = 0;
  for (const Calls& c : wanted.mix) {
    const auto cell = cells.find(c.m);
    if (cell == cells.end()) continue;
    const Evidence* best = best_of(cell->second, layout);
    if (best == nullptr) return 0;
    total += c.calls * cell->second.baseline_ns / std::exp(best->faster.log);
  }
  return total;
}

uint64_t best_layout(const Cells& cells, const Wanted& wanted) {
  std::set<uint64_t> layouts;
  for (const auto& [m, cell] : cells) {
    for (const Evidence& e : cell.configurations) layouts.insert(e.run.layout);
  }
  uint64_t best = 0;
  double least = 0;
  for (const uint64_t layout : layouts) {
    const double total = total_time(cells, wanted, layout);
    if (total > 0 && (best == 0 || total < least)) {
      best = layout;
      least = total;
    }
  }
  return best;
}

}  // namespace

std::vector<Winner> winners(const std::vector<Record>& records,
                            const std::vector<Wanted>& workload) {
  std::vector<Winner> all;
  std::set<std::string> cores;
  for (const Record& of_core : records) {
    if (!cores.insert(identity(of_core.core)).second) continue;
    for (const Wanted& wanted : workload) {
      const Cells cells = cells_for(records, of_core.core, wanted);
      const uint64_t layout = best_layout(cells, wanted);
      for (const auto& [m, cell] : cells) {
        const Evidence* best = layout == 0 ? nullptr : best_of(cell, layout);
        if (best == nullptr) continue;
        const std::string& kernel = best->run.kernel;
        const bool known = std::any_of(all.begin(), all.end(),
                                       [&](const Winner& w) { return w.kernel == kernel; });
        if (known) continue;
        all.push_back(
            {kernel, fmt::format("fastest on {} for {} row{} of {}x{}, among others",
                                 of_core.core.name, m, m == 1 ? "" : "s", wanted.n, wanted.k)});
      }
    }
  }
  return all;
}

}  // namespace tw::tuner
