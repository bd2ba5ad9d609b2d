// SPDX-License-Identifier: Apache-2.0
// What the generated packers under KleidiAI's names share: generated code where there is some for a
// shape of panels, plain C for all others (KleidiAI's take any).
#pragma once

#include "tilewright/kernel.h"

// `block`: of k, by which code differs; 0: weights without blocks, and activations.
typedef struct tw_kai_packer {
  size_t panel, depth, block;
  tw_packer_fn run;
} tw_kai_packer;

static inline tw_packer_fn tw_kai_find_packer(const tw_kai_packer* packers, size_t count,
                                              size_t panel, size_t depth, size_t block) {
  for (size_t i = 0; i < count; ++i) {
    const tw_kai_packer* it = packers + i;
    if (it->panel == panel && it->depth == depth && it->block == block) return it->run;
  }
  return NULL;
}

// Activations: `first_row` of the first panel is the first row that is written; rows of panels that
// others write are left as they are, as threads may pack them at the same time. `whole` packs whole
// panels, `row` panels of one row; null: there is no such code, and `plain` does it. With
// args->block each block begins with its rows' scales, of f16, and has nothing behind its codes.
typedef void (*tw_kai_rows_fn)(const tw_pack_args* args, size_t panel, size_t depth,
                               size_t first_row);
void tw_kai_pack_lhs(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                     tw_packer_fn whole, tw_packer_fn row, tw_kai_rows_fn plain);

// The same with the scales of all blocks behind all codes, from the first row of a panel on.
void tw_kai_pack_lhs_apart(const tw_pack_args* args, size_t panel, size_t depth, tw_packer_fn row,
                           tw_kai_rows_fn plain);

// Plain C, named after what is packed. `panel` rows or columns whose values of k stay together
// `depth` at a time. Weights: `kxn`, whether the source has k rows of n.
void tw_kai_pack_qai8dx(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row);
void tw_kai_pack_qai8dx_f16(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row);
void tw_kai_pack_qai8dx_bf16(const tw_pack_args* args, size_t panel, size_t depth,
                             size_t first_row);
void tw_kai_pack_qsi8d32(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row);
void tw_kai_pack_qsi8d32_ties_even(const tw_pack_args* args, size_t panel, size_t depth,
                                   size_t first_row);
void tw_kai_pack_qsi8d32_apart(const tw_pack_args* args, size_t panel, size_t depth,
                               size_t first_row);
// Each block is followed by what its codes are worth together, and its scale, of f32.
void tw_kai_pack_qsi8d32_sums_f16(const tw_pack_args* args, size_t panel, size_t depth,
                                  size_t first_row);
void tw_kai_pack_qsi8d32_sums_ties_even(const tw_pack_args* args, size_t panel, size_t depth,
                                        size_t first_row);
void tw_kai_pack_qsi4cx(const tw_pack_args* args, size_t panel, size_t depth, int kxn);
void tw_kai_pack_qsi4cx_sequential(const tw_pack_args* args, size_t panel, size_t depth, int kxn);
void tw_kai_pack_qsi4c32(const tw_pack_args* args, size_t panel, size_t depth, int kxn);
void tw_kai_pack_qsi4c32_sequential(const tw_pack_args* args, size_t panel, size_t depth, int kxn);
void tw_kai_pack_qsi4c32_q4_0(const tw_pack_args* args, size_t panel, size_t depth);
// `high_first`: of a byte, k is the high nibble. args->zero_points: what code 0 of each block is
// worth, as the scales.
void tw_kai_pack_qai4c32(const tw_pack_args* args, size_t panel, size_t depth, int high_first);
void tw_kai_pack_qai4c32_sequential(const tw_pack_args* args, size_t panel, size_t depth,
                                    int high_first);
// `sequential`: neighbors in k share a byte, unsigned as they are; else signed ones 4 apart in k,
// whose scales are kept by a sixteenth.
void tw_kai_pack_qsi4c32_q4_0_apart(const tw_pack_args* args, size_t panel, int sequential);
// Codes of 2 bits, from rows of k; `table`: what they stand for.
void tw_kai_pack_qsu2cx(const tw_pack_args* args, size_t panel, const int32_t* table);
void tw_kai_pack_qsu2cx_sequential(const tw_pack_args* args, size_t panel, const int32_t* table);
void tw_kai_pack_qsi8cx(const tw_pack_args* args, size_t panel, size_t depth, int kxn);

// Weights in bf16, of floats in rows of n. `first_again`: where the last group of k has no values,
// that of k 0 stands again. `bias_bytes`: of each.
void tw_kai_pack_bf16_f32(const tw_pack_args* args, size_t panel, size_t depth, size_t bias_bytes,
                          int first_again);
void tw_kai_pack_bf16_f16(const tw_pack_args* args, size_t panel, size_t depth, size_t bias_bytes,
                          int first_again);
// Activations likewise.
void tw_kai_pack_bf16_rows_f16(const tw_pack_args* args, size_t panel, size_t depth);
// Activations that are rounded to f16. Where the last panel has no rows nothing is written.
void tw_kai_pack_f16_rows_f32(const tw_pack_args* args, size_t panel, size_t depth);
// Where the last panel of activations has no rows: its first one, of groups of so many bytes.
void tw_kai_repeat_row(const tw_pack_args* args, size_t panel, size_t bytes);

// Panels of floats from rows of k values, of so many bytes each: what one of KleidiAI's packers
// leaves where there are no columns, but for their biases, which are zeros.
void tw_kai_repeat_value(const tw_pack_args* args, size_t panel, size_t bytes);

// Convolutions: `count` chunks of `length` values of k of so many bytes, `depth` of which stay
// together. Panels of so many rows or columns.
typedef struct tw_kai_chunks {
  size_t count, length, depth, bytes, panel;
} tw_kai_chunks;
// Row pointers: of a panel's rows those of its first chunk, those of its second one and so on;
// `offset` bytes are added to all but `pad`. Rows that do not exist become zeros.
void tw_kai_pack_chunk_rows(const tw_kai_chunks* shape, size_t m, const void* const* rows,
                            size_t offset, const void* pad, void* packed);
// Weights whose bias stands before them; with scales they are codes for static activations, and
// those stand behind them.
void tw_kai_pack_chunk_columns(const tw_kai_chunks* shape, const tw_pack_args* args, int kxn);
