// Packers of both libraries that are told structs.
#pragma once

#include <kai/ukernels/matmul/kai_matmul_pack_rhs_types.h>

#include <vector>

#include "kleidiai/names/libraries.h"

namespace tw::test {

using StructPacker = void (*)(const kai_matmul_pack_rhs_uker_config* config,
                              const kai_matmul_pack_rhs_uker_args* args, int32_t zero_point);

/// All that ours has, none where there is no SME, or no SVE out of streaming mode, which theirs
/// use.
std::vector<Both<StructPacker>> struct_packers();

}  // namespace tw::test
