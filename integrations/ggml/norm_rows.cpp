// RMS_NORM.
#include <cmath>

#include "integrations/ggml/row_operations.h"
#include "integrations/ggml/rows.h"

namespace tw::ggml {

namespace {

TW_FOR_THIS_CPU float sum_of_squares(const float* values, size_t count) {
  constexpr size_t kLanes = 16;
  float sums[kLanes] = {};
  size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    for (size_t lane = 0; lane < kLanes; ++lane) sums[lane] += values[i + lane] * values[i + lane];
  }
  double sum = 0;
  for (const float lane : sums) sum += lane;
  for (; i < count; ++i) sum += values[i] * values[i];
  return static_cast<float>(sum);
}

TW_FOR_THIS_CPU void multiply_by(float factor, const float* in, float* out, size_t count) {
  TW_VALUES_ARE_APART
  for (size_t i = 0; i < count; ++i) out[i] = in[i] * factor;
}

bool covers(const Tensor& op) {
  return has_float_rows(&op) && has_float_rows(op.src[0]) && has_same_shape(op, *op.src[0]) &&
         has_nothing_beyond(op, 1, 1);
}

size_t units(const Tensor& op) {
  return rows_in(op);
}

void compute(const Tensor& op, size_t begin, size_t end) {
  const size_t count = extent(op, 0);
  for (size_t row = begin; row < end; ++row) {
    const RowAt at = row_at(op, row);
    const auto* in = row_in<const float>(*op.src[0], at);
    const float mean = sum_of_squares(in, count) / static_cast<float>(count);
    multiply_by(1 / std::sqrt(mean + float_parameter(op, 0)), in, row_in<float>(op, at), count);
  }
}

}  // namespace

const RowOperation kRmsNorm = {"RMS_NORM", covers, units, compute};

}  // namespace tw::ggml
