// SPDX-License-Identifier: Apache-2.0
// Columns of codes of 2 bits with a scale each, in panels of any width. Sums are those of the
// values that a table says codes stand for. Beyond the last column scales and biases are zeros.
#include "packing.h"

enum { k_multiple = 32, values_in_byte = 4, run = 16, code_of_zero = 0xaa };

static size_t padded(size_t k) {
  return (k + k_multiple - 1) / k_multiple * k_multiple;
}

// Four values of k are neighbors in a byte of the source.
static int code_of(const uint8_t* from, size_t k) {
  return from[k / values_in_byte] >> k % values_in_byte * 2 & 3;
}

static int32_t sum_of_column(const uint8_t* from, size_t k, const int32_t* table) {
  int32_t sum = 0;
  for (size_t i = 0; i < k; ++i) sum += (int8_t)table[code_of(from, i)];
  return sum;
}

static void put_fields(const tw_pack_args* args, uint8_t* fields, size_t panel, int32_t sum,
                       size_t column) {
  const int exists = column < args->rows;
  const float scale = exists ? ((const float*)args->scales)[column] : 0;
  const float bias = exists && args->bias != NULL ? ((const float*)args->bias)[column] : 0;
  tw_store_i32(fields, sum);
  tw_store_i32(fields + 4 * panel, tw_bits_of_f32(scale));
  tw_store_i32(fields + 8 * panel, tw_bits_of_f32(bias));
}

// Values of k that share a byte are 4 apart.
static void put_apart(const uint8_t* from, size_t k, uint8_t* to, size_t panel) {
  for (size_t i = 0; i < k; ++i) {
    uint8_t* const byte = to + i / run * panel * values_in_byte + i % values_in_byte;
    *byte = (uint8_t)(*byte | code_of(from, i) << i % run / values_in_byte * 2);
  }
}

// Beyond the last column codes mean zero in the usual table, and add up to 0.
void tw_kai_pack_qsu2cx(const tw_pack_args* args, size_t panel, const int32_t* table) {
  const size_t k = args->k, bytes = padded(k) / values_in_byte;
  for (size_t first = 0; first < args->rows; first += panel) {
    uint8_t* const to = (uint8_t*)args->packed + first / panel * args->packed_stride;
    memset(to, 0, panel * bytes);
    for (size_t at = 0; at < panel; ++at) {
      const size_t column = first + at;
      const uint8_t* const from = (const uint8_t*)args->source + column * args->source_stride;
      uint8_t* const codes = to + at * values_in_byte;
      const int exists = column < args->rows;
      if (exists) put_apart(from, k, codes, panel);
      for (size_t i = 0; !exists && i < bytes; i += values_in_byte) {
        memset(codes + i * panel, code_of_zero, values_in_byte);
      }
      put_fields(args, to + panel * bytes + 4 * at, panel,
                 exists ? sum_of_column(from, k, table) : 0, column);
    }
  }
}

// Bytes are those of the source; beyond the last column that one's codes and sum stand again.
void tw_kai_pack_qsu2cx_sequential(const tw_pack_args* args, size_t panel, const int32_t* table) {
  const size_t k = args->k, bytes = padded(k) / values_in_byte;
  for (size_t first = 0; first < args->rows; first += panel) {
    uint8_t* const to = (uint8_t*)args->packed + first / panel * args->packed_stride;
    for (size_t at = 0; at < panel; ++at) {
      const size_t column = first + at, last = args->rows - 1;
      const uint8_t* const from =
          (const uint8_t*)args->source + (column < last ? column : last) * args->source_stride;
      for (size_t i = 0; i < bytes; ++i) {
        to[i * panel + at] = i < args->source_stride ? from[i] : code_of_zero;
      }
      put_fields(args, to + panel * bytes + 4 * at, panel, sum_of_column(from, k, table), column);
    }
  }
}
