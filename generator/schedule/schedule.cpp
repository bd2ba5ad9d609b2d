#include "schedule/schedule.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "schedule/allocate.h"
#include "schedule/hoist.h"
#include "schedule/pipeline.h"
#include "schedule/select.h"
#include "schedule/simulate.h"

namespace tw {
namespace {

/// How many vector registers pipelining leaves to register lists, from the fastest on; none: the
/// loops stay as they are.
std::vector<std::optional<int>> spares(const CoreModel& core) {
  if (core.in_order) return {0, 2, std::nullopt};
  return {std::nullopt};
}

double hot_cycles(const Scheduled& scheduled, const CoreModel& core) {
  const Loop* loop = hottest_loop(scheduled.allocated);
  return loop == nullptr ? 0 : cycles_per_iteration(scheduled.allocated, *loop, core);
}

/// The best that fits, if anything does; else `failed`.
std::optional<Scheduled> fastest(const Program& ordered, const CoreModel& core, bool paired_loads,
                                 std::optional<AllocationError>& failed) {
  std::optional<Scheduled> best;
  // Options that allow all rows that others made use of would select the same once more.
  bool has_chains = true;
  int longest = std::numeric_limits<int>::max();  // loads of a row, where nothing is chained
  const SelectOptions all{}, neighbors{.only_neighbors = true}, pairs{.loads_per_row = 2},
      single{.loads_per_row = 1};
  for (const SelectOptions& loads : {all, pairs, neighbors, single}) {
    if (paired_loads && loads.loads_per_row == 0) continue;
    if (loads.only_neighbors && (best || !has_chains)) continue;
    if (loads.loads_per_row >= longest) continue;
    Program selected = clone(ordered);
    const Selection made = select(selected, loads);
    if (loads.loads_per_row == 0) has_chains = made.chained;
    if (!made.chained) longest = std::max(made.loads_per_row, 1);
    for (const std::optional<int> spare : spares(core)) {
      Scheduled next{clone(selected), clone(selected), {}};
      if (spare) pipeline(next.pipelined, core, *spare);
      next.allocated = clone(next.pipelined);
      failed = try_allocate(next.allocated);
      if (failed) continue;
      if (!best || hot_cycles(next, core) < hot_cycles(*best, core)) best = std::move(next);
      break;
    }
  }
  return best;
}

}  // namespace

Scheduled schedule(const Program& ordered, const CoreModel& core, bool paired_loads) {
  std::optional<AllocationError> failed;
  Program counted = clone(ordered);
  for (int constants = hoist_constants(counted, 0); constants >= 0; --constants) {
    Program hoisted = clone(ordered);
    hoist_constants(hoisted, constants);
    std::optional<Scheduled> best = fastest(hoisted, core, paired_loads, failed);
    if (best) return std::move(*best);
  }
  throw *failed;
}

}  // namespace tw
