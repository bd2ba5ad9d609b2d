// SPDX-License-Identifier: Apache-2.0
// A client of libtorch that knows nothing of us: its int4 linear layers (those of torchao and of
// ExecuTorch's 8da4w), f32 rows multiplied by int4 weights. The same numbers in every run.
//
//   torch channel M N K OUT        a scale for each output channel
//   torch group M N K OUT BLOCK    a scale for each group of K
//
// Through libtorch's C interface; of its functions these few are declared here, since libtorch's
// headers are C++ for a later compiler.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "numbers.h"

typedef struct tensor* tensor;
// An argument or a result: a tensor's handle, which the called takes, or an integer; none is 0.
typedef uint64_t value;
int32_t aoti_torch_call_dispatcher(const char* name, const char* overload, value* stack);
int32_t aoti_torch_create_tensor_from_blob(void* data, int64_t dims, const int64_t* sizes,
                                           const int64_t* strides, int64_t offset, int32_t type,
                                           int32_t device, int32_t device_index, tensor* result);
int32_t aoti_torch_get_data_ptr(tensor from, void** data);
int32_t aoti_torch_dtype_float32(void);
int32_t aoti_torch_dtype_bfloat16(void);
int32_t aoti_torch_dtype_uint8(void);
int32_t aoti_torch_device_type_cpu(void);

static void check(int32_t status, const char* what) {
  if (status == 0) return;
  fprintf(stderr, "%s: status %d\n", what, (int)status);
  exit(1);
}

static tensor matrix(void* data, int64_t rows, int64_t columns, int32_t type) {
  const int64_t sizes[2] = {rows, columns}, strides[2] = {columns, 1};
  tensor result;
  check(aoti_torch_create_tensor_from_blob(data, 2, sizes, strides, 0, type,
                                           aoti_torch_device_type_cpu(), 0, &result),
        "tensor");
  return result;
}

static value handle(tensor of) {
  return (value)(uintptr_t)of;
}

static tensor pack(int64_t n, int64_t k, int64_t block) {
  void* const codes = random_bytes((size_t)(n * k / 2));
  const int64_t scales = k / block;
  void* const values = malloc((size_t)(n * scales) * sizeof(float));
  for (int64_t i = 0; i < n * scales; ++i) {
    const float scale = real(0.001F, 0.02F);
    if (block == k) {
      ((float*)values)[i] = scale;
    } else {
      ((uint16_t*)values)[i] = cut_to_bf16(scale);
    }
  }
  value stack[6] = {
      handle(matrix(codes, n, k / 2, aoti_torch_dtype_uint8())),
      handle(matrix(values, n, scales,
                    block == k ? aoti_torch_dtype_float32() : aoti_torch_dtype_bfloat16())),
      0,
      (value)block,
      (value)k,
      (value)n};
  check(aoti_torch_call_dispatcher("aten::_dyn_quant_pack_4bit_weight", "", stack), "packing");
  return (tensor)(uintptr_t)stack[0];
}

int main(int count, char** arguments) {
  if (count < 6) return 2;
  const int64_t m = atoll(arguments[2]), n = atoll(arguments[3]), k = atoll(arguments[4]);
  const int64_t block = count > 6 ? atoll(arguments[6]) : k;
  const tensor weights = pack(n, k, block);
  float* const rows = malloc((size_t)(m * k) * sizeof *rows);
  for (int64_t i = 0; i < m * k; ++i) rows[i] = real(-2, 3);
  value stack[5] = {handle(matrix(rows, m, k, aoti_torch_dtype_float32())), handle(weights),
                    (value)block, (value)k, (value)n};
  check(aoti_torch_call_dispatcher("aten::_dyn_quant_matmul_4bit", "", stack), "product");
  void* out;
  check(aoti_torch_get_data_ptr((tensor)(uintptr_t)stack[0], &out), "result");
  return write_floats(arguments[5], out, (size_t)(m * n));
}
