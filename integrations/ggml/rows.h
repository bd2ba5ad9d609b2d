// What row operations have in common.
#pragma once

#include <algorithm>
#include <cstring>
#include <iterator>

#include "integrations/ggml/ggml_abi.h"

// Loops that compilers vectorize, for this processor.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && defined(__gnu_linux__)
#define TW_FOR_THIS_CPU \
  __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define TW_FOR_THIS_CPU
#endif

// Before a loop whose output lies where an input does, or apart from it.
#if defined(__clang__)
#define TW_VALUES_ARE_APART _Pragma("clang loop vectorize(assume_safety)")
#else
#define TW_VALUES_ARE_APART _Pragma("GCC ivdep")
#endif

namespace tw::ggml {

inline size_t extent(const Tensor& tensor, int i) {
  return static_cast<size_t>(tensor.ne[i]);
}

/// Whether `whole` is `part` some times.
inline bool divides(int64_t part, int64_t whole) {
  return part > 0 && whole % part == 0;
}

inline size_t rows_in(const Tensor& tensor) {
  return extent(tensor, 1) * extent(tensor, 2) * extent(tensor, 3);
}

/// Where a row is, of those that are counted through.
struct RowAt {
  size_t i1, i2, i3;
};

inline RowAt row_at(const Tensor& tensor, size_t row) {
  const size_t n1 = extent(tensor, 1), n2 = extent(tensor, 2);
  return {row % n1, row / n1 % n2, row / n1 / n2};
}

template <class Value>
Value* row_in(const Tensor& tensor, const RowAt& at) {
  return reinterpret_cast<Value*>(static_cast<char*>(tensor.data) + at.i1 * tensor.nb[1] +
                                  at.i2 * tensor.nb[2] + at.i3 * tensor.nb[3]);
}

/// Rows of a tensor that has fewer of them repeat.
inline RowAt repeated(const Tensor& tensor, const RowAt& at) {
  return {at.i1 % extent(tensor, 1), at.i2 % extent(tensor, 2), at.i3 % extent(tensor, 3)};
}

/// Floats side by side.
inline bool has_float_rows(const Tensor* tensor) {
  return tensor != nullptr && tensor->type == type_f32 && tensor->nb[0] == sizeof(float);
}

inline bool has_same_shape(const Tensor& a, const Tensor& b) {
  return std::equal(std::begin(a.ne), std::end(a.ne), b.ne);
}

/// Neither sources nor parameters from these numbers on.
inline bool has_nothing_beyond(const Tensor& op, size_t sources, size_t parameters) {
  const auto is_set = [](auto value) { return static_cast<bool>(value); };
  return std::none_of(op.src + sources, std::end(op.src), is_set) &&
         std::none_of(op.op_params + parameters, std::end(op.op_params), is_set);
}

inline float float_parameter(const Tensor& op, size_t number) {
  float value;
  std::memcpy(&value, &op.op_params[number], sizeof value);
  return value;
}

}  // namespace tw::ggml
