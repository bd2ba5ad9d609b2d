// ADD, MUL and SCALE.
#include "integrations/ggml/row_operations.h"
#include "integrations/ggml/rows.h"

namespace tw::ggml {

namespace {

TW_FOR_THIS_CPU void add(const float* a, const float* b, float* out, size_t count) {
  TW_VALUES_ARE_APART
  for (size_t i = 0; i < count; ++i) out[i] = a[i] + b[i];
}

TW_FOR_THIS_CPU void multiply(const float* a, const float* b, float* out, size_t count) {
  TW_VALUES_ARE_APART
  for (size_t i = 0; i < count; ++i) out[i] = a[i] * b[i];
}

TW_FOR_THIS_CPU void scale(float factor, float added, const float* in, float* out, size_t count) {
  TW_VALUES_ARE_APART
  for (size_t i = 0; i < count; ++i) out[i] = in[i] * factor + added;
}

bool covers_two(const Tensor& op) {
  const Tensor *a = op.src[0], *b = op.src[1];
  if (!has_float_rows(&op) || !has_float_rows(a) || !has_float_rows(b)) return false;
  const auto divides = [&](int i) { return b->ne[i] > 0 && a->ne[i] % b->ne[i] == 0; };
  return has_same_shape(op, *a) && (b->ne[0] == a->ne[0] || b->ne[0] == 1) && divides(1) &&
         divides(2) && divides(3) && has_nothing_beyond(op, 2, 0);
}

bool covers_scale(const Tensor& op) {
  return has_float_rows(&op) && has_float_rows(op.src[0]) && has_same_shape(op, *op.src[0]) &&
         has_nothing_beyond(op, 1, 2);
}

size_t units(const Tensor& op) {
  return rows_in(op);
}

/// Of a value that is the same for all of a row: in * factor + added.
struct Scale {
  float factor, added;
};

template <class OfRows, class OfValue>
void compute_two(const Tensor& op, size_t begin, size_t end, OfRows of_rows, OfValue of_value) {
  const Tensor &a = *op.src[0], &b = *op.src[1];
  const size_t count = extent(op, 0);
  for (size_t row = begin; row < end; ++row) {
    const RowAt at = row_at(op, row);
    const auto *in = row_in<const float>(a, at), *other = row_in<const float>(b, repeated(b, at));
    auto* out = row_in<float>(op, at);
    if (extent(b, 0) == count) {
      of_rows(in, other, out, count);
    } else {
      const Scale by = of_value(*other);
      scale(by.factor, by.added, in, out, count);
    }
  }
}

void compute_add(const Tensor& op, size_t begin, size_t end) {
  compute_two(op, begin, end, add, [](float value) { return Scale{1, value}; });
}

void compute_multiply(const Tensor& op, size_t begin, size_t end) {
  compute_two(op, begin, end, multiply, [](float value) { return Scale{value, 0}; });
}

void compute_scale(const Tensor& op, size_t begin, size_t end) {
  for (size_t row = begin; row < end; ++row) {
    const RowAt at = row_at(op, row);
    scale(float_parameter(op, 0), float_parameter(op, 1), row_in<const float>(*op.src[0], at),
          row_in<float>(op, at), extent(op, 0));
  }
}

}  // namespace

const RowOperation kAdd = {"ADD", covers_two, units, compute_add};
const RowOperation kMultiply = {"MUL", covers_two, units, compute_multiply};
const RowOperation kScale = {"SCALE", covers_scale, units, compute_scale};

}  // namespace tw::ggml
