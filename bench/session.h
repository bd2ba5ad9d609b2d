// What every benchmark needs to know of the machine that it runs on.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "measure/machine_limits.h"
#include "measure/race.h"
#include "measure/team.h"
#include "tilewright/tilewright.hpp"

namespace tw::bench {

using namespace measure;  // NOLINT(google-build-using-namespace): what every benchmark is made of

struct Session {
  tw_device device = tilewright::sized<tw_device>();
  int cpu = -1;                ///< that measures
  std::unique_ptr<Team> team;  ///< shares a layer's slices; null: one thread
  std::string family;          ///< of the workload's layers
  Limits limits;
  Effort effort;
  size_t rotate_bytes = 0;  ///< packed weights fill that much memory: more than the caches hold
  double seconds_per_row = 1e9;  ///< layers that would take longer are left out, and say so
};

/// Pins this thread, and prints what the machine is.
void start_session(Session& session, bool quick);
/// Measures the machine's limits, and prints them.
void measure_machine(Session& session, bool quick);

}  // namespace tw::bench
