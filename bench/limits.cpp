#include "benches.h"
#include "measure/planned_matmul.h"

namespace tw::bench {

void set_limits(benchmark::State& state, const LimitedRace& race, size_t m, const tw_kernel& kernel,
                double rate) {
  const auto rows = static_cast<double>(m);
  const double bytes = bytes_per_weight(kernel);
  if (const double limit = race.limit(rows, bytes); limit > 0) {
    state.counters["limit"] = limit;
    state.counters["share"] = 100 * rate / limit;
  }
  if (const double limit = race.loaded_limit(rows, bytes); limit > 0) {
    state.counters["with_loads"] = limit;
  }
}

}  // namespace tw::bench
