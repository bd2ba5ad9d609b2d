#include "schedule/schedule.h"

#include <optional>
#include <utility>

#include "schedule/allocate.h"
#include "schedule/pipeline.h"
#include "schedule/select.h"
#include "schedule/simulate.h"

namespace tw {
namespace {

/// How many loads an instruction does, and how hard to pipeline.
struct Choice {
  SelectOptions loads;
  bool pipelined = false;
  int spare = 0;  ///< vector registers that pipelining leaves to register lists
};

/// From the fastest to the one that takes fewest registers.
std::vector<Choice> choices(const CoreModel& core, const SelectOptions& loads) {
  std::vector<Choice> all;
  for (int spare : {0, 2, 4, 6}) {
    if (core.in_order) all.push_back({loads, true, spare});
  }
  all.push_back({loads, false, 0});
  return all;
}

Scheduled attempt(const Program& ordered, const CoreModel& core, const Choice& choice) {
  Scheduled result;
  result.selected = clone(ordered);
  select(result.selected, choice.loads);
  result.pipelined = clone(result.selected);
  if (choice.pipelined) pipeline(result.pipelined, core, choice.spare);
  result.allocated = clone(result.pipelined);
  allocate(result.allocated);
  return result;
}

/// The first choice that fits; nothing if none does, or the error of the last when `must_fit`.
std::optional<Scheduled> first_fit(const Program& ordered, const CoreModel& core,
                                   const SelectOptions& loads, bool must_fit) {
  const std::vector<Choice> all = choices(core, loads);
  for (const Choice& choice : all) {
    try {
      return attempt(ordered, core, choice);
    } catch (const AllocationError&) {
      // The next choice may do with fewer registers.
      if (must_fit && &choice == &all.back()) throw;
    }
  }
  return std::nullopt;
}

double hot_cycles(const Scheduled& scheduled, const CoreModel& core) {
  const Loop* loop = hottest_loop(scheduled.allocated);
  return loop == nullptr ? 0 : cycles_per_iteration(scheduled.allocated, *loop, core);
}

}  // namespace

Scheduled schedule(const Program& ordered, const CoreModel& core, bool paired_loads) {
  std::optional<Scheduled> best;
  const SelectOptions all{}, neighbors{.only_neighbors = true}, pairs{.loads_per_row = 2},
      single{.loads_per_row = 1};
  for (const SelectOptions& loads : {all, pairs, neighbors, single}) {
    if (paired_loads && loads.loads_per_row == 0) continue;
    if (loads.only_neighbors && best) continue;
    const bool must_fit = loads.loads_per_row == 1 && !best;
    std::optional<Scheduled> next = first_fit(ordered, core, loads, must_fit);
    if (next && (!best || hot_cycles(*next, core) < hot_cycles(*best, core))) {
      best = std::move(next);
    }
  }
  return std::move(*best);
}

}  // namespace tw
