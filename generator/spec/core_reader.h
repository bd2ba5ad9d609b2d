// templates/core/NAME.yaml -> CoreModel:
//   core: neoverse-n2
//   extends: generic                  # optional: what is not said again is inherited
//   width: 5                          # instructions dispatched per cycle
//   in_order: false
//   ports: [v0, v1, l0, l1, l2]
//   ghz: 2.8
//   classes:
//     dot: {latency: 3, uses: ["v0 v1"]}             # one micro-operation for either port
//     mmla: {latency: 3, accumulate: 1, uses: ["v0 v1"]}  # a sum needs its operand late
//     load_quad: {latency: 6, uses: ["4 * l0 l1 l2"]}  # four of them
#pragma once

#include <filesystem>
#include <string>

#include "model/core.h"

namespace tw {

/// Throws SpecError.
CoreModel read_core(const std::filesystem::path& templates_dir, const std::string& name);

}  // namespace tw
