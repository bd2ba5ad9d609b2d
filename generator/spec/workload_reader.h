// specs/workloads/NAME.yaml -> Workload:
//
//   workload: gemma2b
//   about: text                                            may be left out
//   family: matmul_clamp_f32_qai8dxp_qsi4cxp               of all matmuls; this one if left out
//   matmuls:
//     - {name: q, n: 2048, k: 2048}
//     - {name: ffn, n: 16384, k: 2048, count: 18, regime: hot}
//     - {name: head, n: 256000, k: 2048, family: matmul_clamp_f32_qsi8d32p_qsi4c32p, block: 32,
//        scales: f16}                                      blocks: these if left out
//   m: [{m: 1, calls: 128}, 128]                           a number alone is called once
#pragma once

#include <filesystem>

#include "model/workload.h"

namespace tw {

/// Throws SpecError.
Workload read_workload(const std::filesystem::path& file);

}  // namespace tw
