// SPDX-License-Identifier: Apache-2.0
// What stands behind KleidiAI's names where no generated kernel serves a length of blocks.
#pragma once

#include "tilewright/kernel.h"

// int8 activations and int4 weights, both in blocks of args->block values of k, each of which
// begins with its scales of f16; f32 outputs. `lhs_panel` rows and `rhs_panel` columns, whose codes
// stay together `depth` at a time. A byte holds the codes k and k + block / 2 of a column, signed.
void tw_kai_multiply_qsi8d32_qsi4c32(const tw_args* args, size_t lhs_panel, size_t rhs_panel,
                                     size_t depth);
