#include "schedule/schedule.h"

#include "schedule/allocate.h"
#include "schedule/pipeline.h"
#include "schedule/select.h"

namespace tw {
namespace {

/// Loads per instruction (0: no limit) and how hard to pipeline.
struct Choice {
  int loads_per_row = 0;
  bool pipelined = false;
  int spare = 0;  ///< vector registers that pipelining leaves to register lists
};

/// From the fastest to the one that takes fewest registers.
std::vector<Choice> choices(const CoreModel& core, bool paired_loads) {
  std::vector<Choice> all;
  for (int loads : {0, 2, 1}) {
    if (paired_loads && loads == 0) continue;
    for (int spare : {0, 2, 4, 6}) {
      if (core.in_order) all.push_back({loads, true, spare});
    }
    all.push_back({loads, false, 0});
  }
  return all;
}

Scheduled attempt(const Program& ordered, const CoreModel& core, const Choice& choice) {
  Scheduled result;
  result.selected = clone(ordered);
  select(result.selected, {.loads_per_row = choice.loads_per_row});
  result.pipelined = clone(result.selected);
  if (choice.pipelined) pipeline(result.pipelined, core, choice.spare);
  result.allocated = clone(result.pipelined);
  allocate(result.allocated);
  return result;
}

}  // namespace

Scheduled schedule(const Program& ordered, const CoreModel& core, bool paired_loads) {
  const std::vector<Choice> all = choices(core, paired_loads);
  for (size_t i = 0; i + 1 < all.size(); ++i) {
    try {
      return attempt(ordered, core, all[i]);
    } catch (const AllocationError&) {
      // The next choice may do with fewer registers.
    }
  }
  return attempt(ordered, core, all.back());
}

}  // namespace tw
