// ROPE: pairs of values turned by angles that grow with the position; of neighbours ("normal"), or
// of values half of the turned ones apart ("neox").
#include <cmath>
#include <vector>

#include "integrations/ggml/row_operations.h"
#include "integrations/ggml/rows.h"

namespace tw::ggml {

namespace {

/// Numbers of what `op_params` hold; all from `others` on are nothing that we know.
enum Parameter {
  dimensions = 1,
  mode = 2,
  base = 5,
  frequency_scale = 6,
  extrapolation = 7,
  magnitude = 8,
  others = 11
};
enum Mode { normal = 0, neox = 2 };

struct Turn {
  float cosine, sine;
};

bool covers(const Tensor& op) {
  const Tensor *in = op.src[0], *positions = op.src[1], *factors = op.src[2];
  if (!has_float_rows(&op) || !has_float_rows(in) || positions == nullptr) return false;
  const int32_t turned = op.op_params[dimensions], how = op.op_params[mode];
  return has_same_shape(op, *in) && positions->type == type_i32 &&
         positions->nb[0] == sizeof(int32_t) && positions->ne[0] == in->ne[2] && turned > 0 &&
         turned % 2 == 0 && turned <= in->ne[0] && (how == normal || how == neox) &&
         float_parameter(op, extrapolation) == 0 &&
         (factors == nullptr || (has_float_rows(factors) && factors->ne[0] >= turned / 2)) &&
         has_nothing_beyond(op, 3, others);
}

/// Heads of one position have the same angles.
size_t units(const Tensor& op) {
  return extent(op, 2) * extent(op, 3);
}

/// Angles are multiplied on from pair to pair, as ggml does it: at far positions a rounding of
/// another kind would be another angle.
void set_turns(const Tensor& op, int32_t position, std::vector<Turn>& turns) {
  const auto pairs = static_cast<size_t>(op.op_params[dimensions]) / 2;
  const float step = std::pow(float_parameter(op, base), -1.0F / static_cast<float>(pairs));
  const auto* factors = op.src[2] == nullptr ? nullptr : static_cast<const float*>(op.src[2]->data);
  const float scale = float_parameter(op, frequency_scale);
  const float length = float_parameter(op, magnitude);
  turns.resize(pairs);
  auto angle = static_cast<float>(position);
  for (size_t i = 0; i < pairs; ++i, angle *= step) {
    const float turned = scale * (factors == nullptr ? angle : angle / factors[i]);
    turns[i] = {std::cos(turned) * length, std::sin(turned) * length};
  }
}

void turn(const float* in, float* out, const std::vector<Turn>& turns, bool neighbours) {
  const size_t pairs = turns.size(), apart = neighbours ? 1 : pairs, step = neighbours ? 2 : 1;
  for (size_t i = 0; i < pairs; ++i) {
    const float x = in[i * step], y = in[i * step + apart];
    out[i * step] = x * turns[i].cosine - y * turns[i].sine;
    out[i * step + apart] = x * turns[i].sine + y * turns[i].cosine;
  }
}

void compute(const Tensor& op, size_t begin, size_t end) {
  const Tensor& source = *op.src[0];
  const auto* positions = static_cast<const int32_t*>(op.src[1]->data);
  std::vector<Turn> turns;
  for (size_t unit = begin; unit < end; ++unit) {
    const size_t i2 = unit % extent(op, 2), i3 = unit / extent(op, 2);
    set_turns(op, positions[i2], turns);
    for (size_t i1 = 0; i1 < extent(op, 1); ++i1) {
      const auto* in = row_in<const float>(source, {i1, i2, i3});
      auto* out = row_in<float>(op, {i1, i2, i3});
      turn(in, out, turns, op.op_params[mode] == normal);
      const size_t turned = 2 * turns.size();
      if (out != in) std::copy(in + turned, in + extent(op, 0), out + turned);
    }
  }
}

}  // namespace

const RowOperation kRope = {"ROPE", covers, units, compute};

}  // namespace tw::ggml
