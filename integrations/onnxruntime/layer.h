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

/// Of a convolution: in both directions, lines first.
struct Window {
  size_t kernel[2], strides[2], dilations[2];
  size_t before[2], after[2];  ///< padding
};

struct Layer {
  std::string input;
  size_t values = 0;                  ///< of a row of the input
  int32_t input_type = type_f32;      ///< and, where codes come out, the output's
  std::optional<Number> scale, zero;  ///< what codes of the input mean, where floats come out
  int32_t input_zero = 0;             ///< where codes come out: as int8 has it
  int32_t output_zero = 0;            ///< likewise
  std::optional<Window> window;       ///< of which `values` are a pixel's
  std::string bias_input;
  std::vector<float> bias;

  const char* family = nullptr;
  size_t n = 0, k = 0;  ///< of the weights; k is whole blocks, which may be more than a row has
  size_t block = 0;
  size_t taps = 0;  ///< as tw_matmul has them
  bool has_codes_out = false, has_sums_out = false;
  tw_rhs_source source;  ///< of the node's constants, or of these:
  std::vector<float> own_floats, own_scales, own_zeros;
  std::vector<int8_t> own_codes;

  Layer();
};

/// Whether the node is one of those that may become layers, from its name alone.
bool may_be_layer(const std::string& operation);
/// Throws Refused.
Layer describe(const NodeFacts& node);

// By operators; likewise.
Layer describe_nbits(const NodeFacts& node);        // MatMulNBits
Layer describe_floats(const NodeFacts& node);       // MatMul, FusedMatMul, Gemm
Layer describe_integers(const NodeFacts& node);     // DynamicQuantizeMatMul, MatMulIntegerToFloat
Layer describe_codes(const NodeFacts& node);        // QLinearMatMul
Layer describe_sums(const NodeFacts& node);         // MatMulInteger
Layer describe_convolution(const NodeFacts& node);  // QLinearConv

// ---- what they have in common ----

/// The rows, whose last dimension is the weights' k where it is known.
void take_input(const Operand& rows, size_t values, Layer& layer);
/// Constant values, or an input; one for each of n. Omitted: none.
void take_bias(const Operand& bias, Layer& layer);
/// The constant's, one for each of `count` or one for all.
std::vector<float> spread_floats(const Operand& constant, size_t count);

/// One for each of n; omitted: 0.
std::vector<int32_t> zeros_of(const Operand& zeros, int32_t type, size_t n);
bool is_code_type(int32_t type);
int32_t code_at(const Operand& codes, size_t i);
/// Of activations and outputs that are codes.
void take_quantization(const Operand& scale, const Operand& zero, const Operand& output_scale,
                       const Operand& output_zero, Layer& layer);

/// Plans, and says whether our kernels serve the layer here and are no slower than the host's own.
/// `threads` are those that will run it. Throws Refused.
void plan_layer(const Layer& layer, size_t threads, PackedWeights& made);
/// With the plan. Throws tilewright::Error or std::bad_alloc.
std::shared_ptr<const PackedWeights> make_weights(const Layer& layer, size_t threads);

}  // namespace tw::onnxruntime
