// A product of rows by constant weights: what a node asks of the run time.
#pragma once

#include <optional>

#include "integrations/common/packed_weights.h"
#include "integrations/onnxruntime/node.h"

namespace tw::onnxruntime {

/// A number that is a constant, or an input of the node.
struct Number {
  float value = 0;
  std::string input;  ///< "": `value`
};

struct Layer {
  std::string input;
  size_t values = 0;                  ///< of a row of the input
  int32_t input_type = type_f32;      ///< and, where codes come out, the output's
  std::optional<Number> scale, zero;  ///< what codes of the input mean, where floats come out
  int32_t output_zero = 0;            ///< of codes out
  std::string bias_input;
  std::vector<float> bias;

  const char* family = nullptr;
  size_t n = 0, k = 0;  ///< of the weights; k is whole blocks, which may be more than a row has
  size_t block = 0;
  bool has_codes_out = false;
  tw_rhs_source source;  ///< of the node's constants, or of these:
  std::vector<float> own_floats, own_scales;
  std::vector<int8_t> own_codes;

  Layer();
};

/// Whether the node is one of those that may become layers, from its name alone.
bool may_be_layer(const std::string& operation);
/// Throws Refused.
Layer describe(const NodeFacts& node);

// By operators; likewise.
Layer describe_nbits(const NodeFacts& node);     // MatMulNBits
Layer describe_floats(const NodeFacts& node);    // MatMul, FusedMatMul, Gemm
Layer describe_integers(const NodeFacts& node);  // DynamicQuantizeMatMul, MatMulIntegerToFloat
Layer describe_codes(const NodeFacts& node);     // QLinearMatMul

// ---- what they have in common ----

/// The rows, whose last dimension is the weights' k where it is known.
void take_input(const Operand& rows, size_t values, Layer& layer);
/// Constant values, or an input; one for each of n. Omitted: none.
void take_bias(const Operand& bias, Layer& layer);
/// The constant's, one for each of `count` or one for all.
std::vector<float> spread_floats(const Operand& constant, size_t count);

/// Plans, and says whether our kernels serve the layer here and are no slower than the host's own.
/// `threads` are those that will run it. Throws Refused.
void plan_layer(const Layer& layer, size_t threads, PackedWeights& made);
/// With the plan. Throws tilewright::Error or std::bad_alloc.
std::shared_ptr<const PackedWeights> make_weights(const Layer& layer, size_t threads);

}  // namespace tw::onnxruntime
