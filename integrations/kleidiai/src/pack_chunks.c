// SPDX-License-Identifier: Apache-2.0
// Operands of convolutions: k comes in chunks, one for each tap of a window, and each ends in zeros
// up to a whole group of the values of k that stay together.
#include "packing.h"

static size_t groups_of(const tw_kai_chunks* shape) {
  return (shape->length + shape->depth - 1) / shape->depth;
}

// Bytes of a group of all of a panel's rows or columns.
static size_t line_of(const tw_kai_chunks* shape) {
  return shape->panel * shape->depth * shape->bytes;
}

// A chunk whose values are so many bytes apart, to the `at`-th row or column of its panel.
static void put_chunk(const tw_kai_chunks* shape, const uint8_t* from, size_t stride, size_t at,
                      uint8_t* panel) {
  const size_t depth = shape->depth, bytes = shape->bytes;
  for (size_t i = 0; i < shape->length; ++i) {
    memcpy(panel + i / depth * line_of(shape) + (at * depth + i % depth) * bytes, from + i * stride,
           bytes);
  }
}

void tw_kai_pack_chunk_rows(const tw_kai_chunks* shape, size_t m, const void* const* rows,
                            size_t offset, const void* pad, void* packed) {
  const size_t chunk_bytes = groups_of(shape) * line_of(shape);
  uint8_t* to = (uint8_t*)packed;
  for (size_t first = 0; first < m; first += shape->panel) {
    const size_t count = m - first < shape->panel ? m - first : shape->panel;
    for (size_t chunk = 0; chunk < shape->count; ++chunk) {
      memset(to, 0, chunk_bytes);
      for (size_t row = 0; row < count; ++row) {
        const uint8_t* const from = (const uint8_t*)rows[row];
        put_chunk(shape, rows[row] == pad ? from : from + offset, shape->bytes, row, to);
      }
      to += chunk_bytes;
      rows += shape->panel;
    }
  }
}

// What a column of static int8 has beside its codes.
static void put_static_fields(const tw_pack_args* args, size_t column, uint8_t* bias_at,
                              uint8_t* scale_at) {
  const int8_t* const codes = (const int8_t*)args->source + column;
  int32_t sum = 0;
  for (size_t i = 0; i < args->k; ++i) sum += codes[i * args->source_stride];
  const int32_t bias = args->bias != NULL ? ((const int32_t*)args->bias)[column] : 0;
  const int32_t taken = tw_mul_i32(-args->lhs_zero_point, sum);
  tw_store_i32(bias_at, tw_add_i32(bias, taken));
  const float scale = ((const float*)args->scales)[column] * args->lhs_scale;
  tw_store_i32(scale_at, tw_bits_of_f32(scale / args->dst_scale));
}

void tw_kai_pack_chunk_columns(const tw_kai_chunks* shape, const tw_pack_args* args, int kxn) {
  const size_t panel = shape->panel, bytes = shape->bytes;
  const size_t chunk_bytes = groups_of(shape) * line_of(shape);
  const size_t bias_bytes = args->scales != NULL ? sizeof(int32_t) : bytes;
  // Of a value of k to the next one, and of a column to the next one.
  const size_t depth_stride = kxn ? args->source_stride : bytes;
  const size_t column_stride = kxn ? bytes : args->source_stride;
  for (size_t first = 0; first < args->rows; first += panel) {
    uint8_t* const to = (uint8_t*)args->packed + first / panel * args->packed_stride;
    uint8_t* const codes = to + panel * bias_bytes;
    memset(to, 0, args->packed_stride);
    for (size_t at = 0; at < panel && first + at < args->rows; ++at) {
      const size_t column = first + at;
      const uint8_t* from = (const uint8_t*)args->source + column * column_stride;
      for (size_t chunk = 0; chunk < shape->count; ++chunk) {
        put_chunk(shape, from, depth_stride, at, codes + chunk * chunk_bytes);
        from += shape->length * depth_stride;
      }
      uint8_t* const scales = codes + shape->count * chunk_bytes;
      if (args->scales != NULL) {
        put_static_fields(args, column, to + at * bias_bytes, scales + at * sizeof(float));
      } else if (args->bias != NULL) {
        memcpy(to + at * bytes, (const uint8_t*)args->bias + column * bytes, bytes);
      }
    }
  }
}
