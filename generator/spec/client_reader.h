// integrations/kleidiai/names.yaml -> ClientNames:
//
//   version: 1.32.0
//   matmuls:
//     - family: matmul_clamp_f32_qai8dxp_qsi4cxp
//       sr: 2
//       kernels:
//         - {name: matmul_..., step: {m: 8, n: 8}, isa: neon_i8mm,
//            panels: {lhs: 4, rhs: 8, kr: 8}, tile: {m: 8, n: 8}}
//   packers:
//     - {name: lhs_quant_pack_..., lhs: qai8dx, from: f32}
//     - {name: rhs_pack_..., rhs: qsi4cx, from: nxk, params: kai_..., alias: kai_...}
#pragma once

#include <filesystem>
#include <vector>

#include "model/client.h"

namespace tw {

/// Of `variants` those that read KleidiAI's layouts can stand behind a name. Throws SpecError.
ClientNames read_client_names(const std::filesystem::path& file,
                              const std::vector<const Variant*>& variants);

}  // namespace tw
