#include "schedule/schedule.h"

#include "schedule/allocate.h"
#include "schedule/pipeline.h"
#include "schedule/select.h"

namespace tw {
namespace {

Scheduled attempt(const Program& ordered, const CoreModel& core, int loads_per_row,
                  bool pipelined) {
  Scheduled result;
  result.selected = clone(ordered);
  select(result.selected, {.loads_per_row = loads_per_row});
  result.pipelined = clone(result.selected);
  if (pipelined) pipeline(result.pipelined, core);
  result.allocated = clone(result.pipelined);
  allocate(result.allocated);
  return result;
}

}  // namespace

Scheduled schedule(const Program& ordered, const CoreModel& core, bool paired_loads) {
  std::vector<int> choices = {2, 1};
  if (!paired_loads) choices.insert(choices.begin(), 0);
  for (int loads_per_row : choices) {
    for (bool pipelined : {true, false}) {
      if (pipelined && !core.in_order) continue;
      const bool last = loads_per_row == 1 && !pipelined;
      if (last) break;
      try {
        return attempt(ordered, core, loads_per_row, pipelined);
      } catch (const AllocationError&) {
        // The next choice takes fewer registers.
      }
    }
  }
  return attempt(ordered, core, 1, false);
}

}  // namespace tw
