// SPDX-License-Identifier: Apache-2.0
// Rows of activations -> int8 with a scale and a zero point each, in panels of any shape.
#include <float.h>
#include <math.h>

#include "packing.h"

// Rows are padded so far, with their last value.
enum { k_multiple = 32 };

// A row of values of any of the types that packers take.
typedef struct values {
  const void* first;
  float (*widen)(uint16_t half);  // NULL: they are f32
} values;

static float value_of(const values* row, size_t i) {
  if (row->widen == NULL) return ((const float*)row->first)[i];
  return row->widen(tw_load_u16((const uint8_t*)row->first + 2 * i));
}

typedef struct row_codes {
  float scale;  // of values: codes are rounded value * scale, plus the zero point
  int32_t zero_point;
} row_codes;

// As generated packers do, what KleidiAI loses included: ranges beyond the floats, and values that
// are none, whose rows get a scale that is none.
static row_codes choose_codes(const values* row, size_t k) {
  float low = 0, high = 0, finite = 0;
  for (size_t i = 0; i < k; ++i) {
    const float value = value_of(row, i);
    low = fminf(low, value);
    high = fmaxf(high, value);
    finite += 0 * value;  // NaN of what is not
  }
  if (isnan(finite)) return (row_codes){NAN, 0};
  const float lowest = -128, highest = 127;
  float scale = low == high ? 1 : (highest - lowest) / (high - low);
  if (isinf(high - low)) scale = (highest - lowest) / 2 / (high / 2 - low / 2);
  if (isinf(scale)) scale = FLT_MAX;
  const float from = low * scale, to = high * scale;
  // Whichever end is hit more exactly.
  const float exact = (lowest + from) + (highest + to) > 0 ? lowest - from : highest - to;
  const float within = fminf(fmaxf(exact, lowest), highest);
  return (row_codes){scale, tw_i32_of_f32(within)};
}

static int8_t code_of(float value, row_codes codes) {
  if (isnan(codes.scale)) return 0;
  const float rounded = fminf(fmaxf(roundf(value * codes.scale), -32768), 32767);
  const int32_t code = (int32_t)rounded + codes.zero_point;
  return (int8_t)(code < -128 ? -128 : code > 127 ? 127 : code);
}

static void pack_row(const values* row, size_t k, uint8_t* panel, size_t in_panel, size_t at,
                     size_t depth) {
  const row_codes codes = choose_codes(row, k);
  const size_t padded = (k + k_multiple - 1) / k_multiple * k_multiple;
  for (size_t i = 0; i < padded; ++i) {
    const float value = value_of(row, i < k ? i : k - 1);
    panel[(i / depth * in_panel + at) * depth + i % depth] = (uint8_t)code_of(value, codes);
  }
  uint8_t* const fields = panel + in_panel * padded;
  tw_store_i32(fields + 4 * at, -codes.zero_point);
  tw_store_i32(fields + 4 * (in_panel + at), tw_bits_of_f32(1 / codes.scale));
}

static void pack_rows(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row,
                      float (*widen)(uint16_t half)) {
  for (size_t i = 0; i < args->rows; ++i) {
    const size_t to = first_row + i;
    const values row = {(const uint8_t*)args->source + i * args->source_stride, widen};
    pack_row(&row, args->k, (uint8_t*)args->packed + to / panel * args->packed_stride, panel,
             to % panel, depth);
  }
}

void tw_kai_pack_qai8dx(const tw_pack_args* args, size_t panel, size_t depth, size_t first_row) {
  pack_rows(args, panel, depth, first_row, NULL);
}

void tw_kai_pack_qai8dx_f16(const tw_pack_args* args, size_t panel, size_t depth,
                            size_t first_row) {
  pack_rows(args, panel, depth, first_row, tw_f32_of_f16);
}

void tw_kai_pack_qai8dx_bf16(const tw_pack_args* args, size_t panel, size_t depth,
                             size_t first_row) {
  pack_rows(args, panel, depth, first_row, tw_f32_of_bf16);
}
