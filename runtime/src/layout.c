/* Sizes of packed operands, from their layouts; every product and sum is checked. */
#include "internal.h"

/* Offsets stay below half of the address space, so that pointer differences are defined. */
#define LARGEST (SIZE_MAX / 2)

bool tw_multiply(size_t a, size_t b, size_t* result) {
  if (a != 0 && b > LARGEST / a) return false;
  *result = a * b;
  return true;
}

bool tw_add(size_t a, size_t b, size_t* result) {
  if (a > LARGEST || b > LARGEST - a) return false;
  *result = a + b;
  return true;
}

bool tw_matrix_bytes(size_t rows, size_t row_bytes, size_t stride, size_t* bytes) {
  return tw_multiply(rows - 1, stride, bytes) && tw_add(*bytes, row_bytes, bytes);
}

size_t tw_divide_up(size_t a, size_t b) {
  return a / b + (a % b != 0);
}

size_t tw_least(size_t a, size_t b) {
  return a < b ? a : b;
}

size_t tw_common_multiple(size_t a, size_t b) {
  size_t x = a, y = b;
  while (y != 0) {
    const size_t rest = x % y;
    x = y;
    y = rest;
  }
  return a / x * b;
}

bool tw_round_up(size_t value, size_t multiple, size_t* result) {
  return tw_multiply(tw_divide_up(value, multiple), multiple, result);
}

size_t tw_vector_bytes(const tw_layout* layout, const tw_device* device) {
  return layout->streaming != 0 ? device->streaming_vector_bytes : device->vector_bytes;
}

static size_t length_of(size_t fixed, size_t scalable, size_t vector_bytes) {
  if (scalable != 0 && vector_bytes < 16) return 0;
  return fixed + scalable * (vector_bytes / 16);
}

int64_t tw_length_at(tw_length length, int64_t vectors) {
  return length.fixed + length.scalable * vectors;
}

size_t tw_panel_rows(const tw_layout* layout, const tw_device* device) {
  return length_of(layout->panel, layout->panel_scalable, tw_vector_bytes(layout, device));
}

size_t tw_tile_rows(const tw_kernel* kernel, const tw_device* device) {
  return length_of(kernel->tile_m, kernel->tile_m_scalable, tw_vector_bytes(kernel->lhs, device));
}

size_t tw_tile_columns(const tw_kernel* kernel, const tw_device* device) {
  return length_of(kernel->tile_n, kernel->tile_n_scalable, tw_vector_bytes(kernel->rhs, device));
}

bool tw_is_rows(const tw_layout* lhs) {
  const bool floats = lhs->type == TW_F32 || lhs->type == TW_F16 || lhs->type == TW_BF16;
  return floats && lhs->panel == 1 && lhs->panel_scalable == 0 && lhs->k_multiple == 1 &&
         lhs->block == 0 && lhs->per_row_bytes == 0;
}

bool tw_reads_rows(const tw_kernel* kernel, tw_type type) {
  return tw_is_rows(kernel->lhs) && kernel->lhs->type == type;
}

bool tw_is_float(const tw_layout* rhs) {
  const tw_type type = rhs->axes != NULL ? rhs->axes->data.type : TW_TYPE_NONE;
  return type == TW_F32 || type == TW_F16 || type == TW_BF16;
}

bool tw_is_static(const tw_layout* rhs) {
  return rhs->axes != NULL && rhs->axes->bias.type == TW_S32;
}

bool tw_keeps_bias(const tw_layout* rhs) {
  return rhs->axes == NULL || rhs->axes->bias.type != TW_TYPE_NONE;
}

size_t tw_scale_bytes(tw_scales scales) {
  return scales == TW_SCALES_F32 ? 4 : scales == TW_SCALES_E8M0 ? 1 : 2;
}

const char* tw_scales_text(tw_scales scales) {
  switch (scales) {
    case TW_SCALES_F32:
      return "f32";
    case TW_SCALES_F16:
      return "f16";
    case TW_SCALES_BF16:
      return "bf16";
    case TW_SCALES_E8M0:
      return "e8m0";
    default:
      return "unset";
  }
}

bool tw_panel_bytes(const tw_layout* layout, const tw_device* device, size_t k, size_t* bytes) {
  size_t padded, data, blocks = 0, row;
  if (!tw_round_up(k, layout->k_multiple, &padded)) return false;
  if (layout->block != 0) {
    if (!tw_round_up(padded, layout->block, &padded)) return false;
    blocks = padded / layout->block;
  }
  if (!tw_multiply(padded, layout->data_bits, &data)) return false;
  if (!tw_multiply(blocks, layout->per_row_block_bytes, &row)) return false;
  if (!tw_add(row, data / 8, &row) || !tw_add(row, layout->per_row_bytes, &row)) return false;
  return tw_multiply(row, tw_panel_rows(layout, device), bytes);
}
