// A product by constant weights: random numbers, their tensors, and what comes out by plain loops.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "litert/models/model.h"

namespace tw::litert {

struct LayerKind {
  Type input = type_f32, weights = type_f32;
  bool by_rows = true;  ///< codes: a scale for each row of weights, or one for all
  bool has_bias = true;
  Activation activation = activation_none;
};

/// Numbers are values of floats, or codes.
struct Layer {
  LayerKind kind;
  size_t n = 0, k = 0;
  std::vector<double> weights;  ///< n rows of k
  std::vector<float> scales;    ///< of rows
  std::vector<double> bias;     ///< empty: none
  float input_scale = 0.03F, output_scale = 0.1F;
  int32_t input_zero = -7, output_zero = 5;
};
Layer random_layer(const LayerKind& kind, size_t n, size_t k, std::mt19937& random);
/// Its weights become so many times smaller: what goes through many layers keeps its size.
void shrink_weights(Layer& layer, float times);
std::vector<double> random_inputs(const Layer& layer, size_t count, std::mt19937& random);

std::vector<uint8_t> bytes_of(Type type, const std::vector<double>& values);

/// The weights' rows have this shape.
ModelTensor weight_tensor(const Layer& layer, const std::vector<int32_t>& row_shape);
ModelTensor bias_tensor(const Layer& layer);  ///< of zeros where the layer has none
ModelTensor input_tensor(const Layer& layer, const std::vector<int32_t>& shape);
ModelTensor output_tensor(const Layer& layer, const std::vector<int32_t>& shape);

/// Of rows of k numbers each, by plain loops; activations are not rounded to codes. Codes out are
/// not rounded.
std::vector<double> exact_products(const Layer& layer, const std::vector<double>& rows);

/// Compares outputs with those of rows of k numbers each, by plain loops.
void expect_products(const Layer& layer, const std::vector<double>& rows,
                     const std::vector<uint8_t>& outputs);

}  // namespace tw::litert
