#include "session.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "measure/machine.h"

namespace tw::bench {

static constexpr size_t least_rotation = size_t{256} << 20;

void start_session(Session& session, bool quick) {
  if (tw_device_detect(&session.device) != TW_OK) fail(tw_error_message());
  session.effort = quick ? Effort{5, 0.01} : Effort{15, 0.03};
  session.seconds_per_row = quick ? 8 : 1e9;
  const Conditions conditions = settle();
  session.cpu = conditions.core;
  session.rotate_bytes =
      std::min(std::max(least_rotation, 8 * conditions.cache_bytes), available_memory() / 8);
  fmt::print("{}: {}; streamed weights rotate through {} MiB or more\nkernels built as {} by {}\n",
             session.device.name, conditions.text, session.rotate_bytes >> 20,
             TILEWRIGHT_BUILD_TYPE, TILEWRIGHT_COMPILER);
  if (session.team != nullptr) {
    fmt::print("layers are shared by {} threads, whose limits stand beside them\n",
               session.team->threads());
  }
  if (std::string_view(TILEWRIGHT_BUILD_TYPE) != "Release") {
    fmt::print("NOT a Release build: the figures say nothing about C kernels.\n");
  }
}

void measure_machine(Session& session, bool quick) {
  std::fflush(stdout);
  const Memory memory(2 * std::max(session.rotate_bytes, 2 * least_rotation));
  session.limits = measure_limits(memory, quick);
  fmt::print("\nLimits of one core, measured in this run\n{}", to_text(session.limits));
}

}  // namespace tw::bench
