// MatMul, FusedMatMul and Gemm of float32 by a constant matrix.
#include <algorithm>

#include "integrations/onnxruntime/layer.h"

namespace tw::onnxruntime {

namespace {

std::vector<float> times(const void* values, size_t count, float factor) {
  std::vector<float> made(count);
  const auto* from = static_cast<const float*>(values);
  std::transform(from, from + count, made.begin(), [&](float value) { return value * factor; });
  return made;
}

void take_matrix(const Operand& matrix, bool is_transposed, Layer& layer) {
  require(matrix.is_constant(), "weights that are no constants");
  require(matrix.type == type_f32, "weights that are not float32");
  require(matrix.shape.size() == 2, "weights that are no matrix");
  const size_t rows = static_cast<size_t>(matrix.shape[0]),
               columns = static_cast<size_t>(matrix.shape[1]);
  require(rows != 0 && columns != 0, "empty weights");
  layer.n = is_transposed ? rows : columns;
  layer.k = is_transposed ? columns : rows;
  layer.source.order = is_transposed ? TW_NXK : TW_KXN;
  layer.source.data = matrix.data;
  layer.source.stride = columns * sizeof(float);
  layer.source.data_bytes = rows * layer.source.stride;
}

void take_factor(float factor, Layer& layer) {
  if (factor == 1) return;
  layer.own_floats = times(layer.source.data, layer.n * layer.k, factor);
  layer.source.data = layer.own_floats.data();
}

/// C of a Gemm, as far as it is the same for all rows.
void take_addend(const Operand& addend, float factor, Layer& layer) {
  if (!addend.is_there() || factor == 0) return;
  require(addend.has_shape || addend.is_constant(), "an addend of unknown shape");
  const size_t values = value_count(addend);
  const bool is_of_columns =
      values == 1 || (values == layer.n && addend.shape.back() == static_cast<int64_t>(layer.n));
  require(is_of_columns, "an addend that differs by rows");
  take_bias(addend, layer);
  require(layer.bias_input.empty() || factor == 1, "an input times a factor as addend");
  for (float& value : layer.bias) value *= factor;
}

}  // namespace

Layer describe_floats(const NodeFacts& node) {
  require(node.input(0).type == type_f32, "activations that are not float32");
  for (const char* transposes : {"transA", "transBatchA", "transBatchB"}) {
    require(node.integer(transposes, 0) == 0, "activations that are transposed");
  }
  Layer layer;
  layer.family = "matmul_clamp_f32_f32_f32p";
  take_matrix(node.input(1), node.integer("transB", 0) != 0, layer);
  take_input(node.input(0), layer.k, layer);
  take_factor(node.number("alpha", 1), layer);
  if (node.operation == "Gemm") take_addend(node.input(2), node.number("beta", 1), layer);
  return layer;
}

}  // namespace tw::onnxruntime
