// templates/core/NAME.yaml -> CoreModel:
//   core: neoverse-n2
//   extends: generic                  # optional: what is not said again is inherited
//   width: 5                          # micro-operations dispatched per cycle
//   in_order: false
//   vector_bytes: 32                  # of one vector port; optional: as wide as any vector
//   ports: [v0, v1, l0, l1, l2]
//   window: 320                       # out of order: micro-operations under way; optional
//   queue: 64 * v0 v1                 # and how many of them wait for these ports
//   ghz: 2.8
//   # The clock where so many vectors are multiplied a cycle, with so many loads for each, or where
//   # instructions of some classes run; optional.
//   slow_clock: {ghz: 2.5, vector_bytes: 64, multiplies: 1.2, loads: 0.4, classes: [dot.tile]}
//   cpus: {maker: AMD, family: 26, features: [avx512f]}  # x86: who has such cores; not inherited
//   l2_bytes: 1048576                 # where a machine does not say
//   stream_prefetch: 8192             # bytes ahead of kernels that wait for weights; 0: none
//   row_panels: 2                     # kernels of one row read so many at the same time; 1
//   classes:
//     dot: {latency: 3, uses: [v0 v1]}                  # a cycle of either port
//     mmla: {latency: 3, accumulate: 1, uses: [v0 v1]}  # a sum needs its operand late
//     load_pair: {latency: 5, first_result: 4, uses: [l0]}  # of two results, the first
//     load_quad: {latency: 6, micro_ops: 4, uses: [4 * l0 l1 l2]}  # four cycles of one of them
// Cores that issue in order write in order too: an instruction waits until its result is not
// written before those of earlier ones. What it says otherwise:
//     and: {latency: 1, first: true, uses: [2 * v0 v1]}  # can only be the first of its cycle
//     fma: {latency: 4, late: true, uses: [v0 v1]}       # may be written after later ones
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "model/core.h"

namespace tw {

/// Throws SpecError.
CoreModel read_core(const std::filesystem::path& templates_dir, const std::string& name);
/// All that say which processors have them, by name. Throws SpecError.
std::vector<CoreModel> read_known_cores(const std::filesystem::path& templates_dir);

}  // namespace tw
