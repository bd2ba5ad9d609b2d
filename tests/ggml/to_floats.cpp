// The host's functions that make floats of rows.
#include <cstring>
#include <string>

#include "ggml/tensors.h"

using namespace tw::ggml;

#define HOST extern "C" __attribute__((visibility("default"), used))

HOST const char* ggml_type_name(int32_t type) {
  static std::string name;
  name = weight_type(type)->name;
  if (name.back() == 'k') name.back() = 'K';
  return name.c_str();
}

#define TO_FLOATS(function, type)                                           \
  HOST void function(const void* row, float* values, int64_t count) {       \
    const auto* bytes = static_cast<const uint8_t*>(row);                   \
    const auto floats = floats_of(type, bytes, static_cast<size_t>(count)); \
    std::memcpy(values, floats.data(), floats.size() * sizeof(float));      \
  }
TO_FLOATS(ggml_fp16_to_fp32_row, type_f16)
TO_FLOATS(ggml_bf16_to_fp32_row, type_bf16)
TO_FLOATS(dequantize_row_q4_0, type_q4_0)
TO_FLOATS(dequantize_row_q4_1, type_q4_1)
TO_FLOATS(dequantize_row_q5_0, type_q5_0)
TO_FLOATS(dequantize_row_q5_1, type_q5_1)
TO_FLOATS(dequantize_row_q8_0, type_q8_0)
TO_FLOATS(dequantize_row_q4_K, type_q4_k)
TO_FLOATS(dequantize_row_q5_K, type_q5_k)
TO_FLOATS(dequantize_row_q6_K, type_q6_k)
TO_FLOATS(dequantize_row_q2_K, type_q2_k)
TO_FLOATS(dequantize_row_q3_K, type_q3_k)
TO_FLOATS(dequantize_row_iq4_nl, type_iq4_nl)
TO_FLOATS(dequantize_row_iq4_xs, type_iq4_xs)
TO_FLOATS(dequantize_row_mxfp4, type_mxfp4)
TO_FLOATS(dequantize_row_tq2_0, type_tq2_0)
TO_FLOATS(dequantize_row_q2_0, type_q2_0)
TO_FLOATS(dequantize_row_nvfp4, type_nvfp4)
TO_FLOATS(dequantize_row_q1_0, type_q1_0)
TO_FLOATS(dequantize_row_tq1_0, type_tq1_0)
TO_FLOATS(dequantize_row_iq3_s, type_iq3_s)
TO_FLOATS(dequantize_row_iq3_xxs, type_iq3_xxs)
TO_FLOATS(dequantize_row_iq2_xxs, type_iq2_xxs)
TO_FLOATS(dequantize_row_iq2_xs, type_iq2_xs)
TO_FLOATS(dequantize_row_iq2_s, type_iq2_s)
TO_FLOATS(dequantize_row_iq1_s, type_iq1_s)
TO_FLOATS(dequantize_row_iq1_m, type_iq1_m)
