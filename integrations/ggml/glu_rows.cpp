// GLU, of which SWIGLU: x / (1 + exp(-x)) * gate.
#include <bit>

#include "integrations/ggml/row_operations.h"
#include "integrations/ggml/rows.h"
#include "integrations/ggml/symbols.h"

namespace tw::ggml {

namespace {

/// To within 2 units in the last place, for what floats can hold: the power of two from the
/// exponent's bits, and a series for what is left, which lies within half of log(2) of 0.
inline float exponential(float x) {
  constexpr float kMost = 88, kLog2E = 1.44269504F, kLog2High = 0.693359375F,
                  kLog2Low = -2.12194440e-4F;
  constexpr float kToInteger = 12582912;  // floats from here on have no fractions
  x = x < -kMost ? -kMost : x;
  x = x > kMost ? kMost : x;
  const float shifted = x * kLog2E + kToInteger;
  const float power = shifted - kToInteger;
  const float rest = x - power * kLog2High - power * kLog2Low;
  float series = 1.0F / 5040;
  series = series * rest + 1.0F / 720;
  series = series * rest + 1.0F / 120;
  series = series * rest + 1.0F / 24;
  series = series * rest + 1.0F / 6;
  series = series * rest + 0.5F;
  series = series * rest * rest + rest + 1;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(series) + exponent);
}

TW_FOR_THIS_CPU void swiglu(const float* in, const float* gate, float* out, size_t count) {
  TW_VALUES_ARE_APART
  for (size_t i = 0; i < count; ++i) out[i] = in[i] / (1 + exponential(-in[i])) * gate[i];
}

bool is_swiglu(const Tensor& op) {
  static const auto name_of = find_function<const char*(int32_t)>("ggml_glu_op_name");
  constexpr int32_t kMost = 3;  // those before it have had their numbers since there are any
  return name_of != nullptr && op.op_params[0] >= 0 && op.op_params[0] < kMost &&
         std::strcmp(name_of(op.op_params[0]), "SWIGLU") == 0;
}

/// Both inputs, or one whose rows hold them one after the other.
bool covers(const Tensor& op) {
  const Tensor *in = op.src[0], *gate = op.src[1];
  if (!has_float_rows(&op) || !has_float_rows(in) || !is_swiglu(op)) return false;
  const bool same_rows = std::equal(in->ne + 1, in->ne + 4, op.ne + 1);
  if (!same_rows || !has_nothing_beyond(op, 2, 2)) return false;
  if (gate == nullptr) return in->ne[0] == 2 * op.ne[0];
  return in->ne[0] == op.ne[0] && has_float_rows(gate) && has_same_shape(*gate, *in);
}

size_t units(const Tensor& op) {
  return rows_in(op);
}

void compute(const Tensor& op, size_t begin, size_t end) {
  const size_t count = extent(op, 0);
  const bool is_swapped = op.op_params[1] != 0;
  for (size_t row = begin; row < end; ++row) {
    const RowAt at = row_at(op, row);
    const auto* in = row_in<const float>(*op.src[0], at);
    const float* gate = in + count;
    if (op.src[1] != nullptr) {
      gate = row_in<const float>(*op.src[1], at);
    } else if (is_swapped) {
      std::swap(in, gate);
    }
    swiglu(in, gate, row_in<float>(op, at), count);
  }
}

}  // namespace

const RowOperation kGlu = {"GLU", covers, units, compute};

}  // namespace tw::ggml
