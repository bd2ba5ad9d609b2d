// SPDX-License-Identifier: Apache-2.0
// Packers that are told structs.
#pragma once

#include "kai/ukernels/matmul/kai_matmul_pack_rhs_types.h"

// int4 for static activations, in panels of so many columns; codes are so far above what they mean.
void tw_kai_pack_qsi4cx_static(const struct kai_matmul_pack_rhs_uker_args* args, size_t panel,
                               int32_t zero_point, int kxn);
