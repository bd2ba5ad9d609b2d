// QLinearConv: codes of images, channel by channel (NCHW), by codes of 8 bits.
#include <algorithm>
#include <cstdlib>
#include <limits>

#include "integrations/onnxruntime/layer.h"

namespace tw::onnxruntime {

namespace {

void copy_pair(const std::vector<int64_t>& from, size_t begin, int64_t least, size_t (&to)[2]) {
  for (size_t i = 0; i < 2; ++i) {
    require(from[begin + i] >= least, "a window that is none");
    to[i] = static_cast<size_t>(from[begin + i]);
  }
}

Window window_of(const NodeFacts& node, const Operand& weights) {
  const auto padding = node.words.find("auto_pad");
  require(padding == node.words.end() || padding->second == "NOTSET" || padding->second.empty(),
          "padding that the runtime chooses");
  Window window = {};
  copy_pair(weights.shape, 2, 1, window.kernel);
  const std::vector<int64_t> kernel = node.list("kernel_shape", 2, 0);
  require(!node.lists.contains("kernel_shape") ||
              std::equal(kernel.begin(), kernel.end(), weights.shape.begin() + 2),
          "a window of another size than the weights");
  copy_pair(node.list("strides", 2, 1), 0, 1, window.strides);
  copy_pair(node.list("dilations", 2, 1), 0, 1, window.dilations);
  const std::vector<int64_t> pads = node.list("pads", 4, 0);
  copy_pair(pads, 0, 0, window.before);
  copy_pair(pads, 2, 0, window.after);
  return window;
}

bool is_plain(const Window& window) {
  const auto is = [](const size_t(&pair)[2], size_t value) {
    return pair[0] == value && pair[1] == value;
  };
  return is(window.kernel, 1) && is(window.strides, 1) && is(window.before, 0) &&
         is(window.after, 0);
}

/// Of each output, tap by tap, all channels of a tap one after the other, int8 without zero points.
std::vector<int8_t> codes_of_taps(const Operand& weights, const std::vector<int32_t>& zeros,
                                  size_t taps, size_t channels) {
  std::vector<int8_t> made(zeros.size() * taps * channels);
  for (size_t output = 0; output < zeros.size(); ++output) {
    for (size_t channel = 0; channel < channels; ++channel) {
      for (size_t tap = 0; tap < taps; ++tap) {
        const int32_t code =
            code_at(weights, (output * channels + channel) * taps + tap) - zeros[output];
        require(code >= -128 && code <= 127, "weights whose zero points leave more than 8 bits");
        made[(output * taps + tap) * channels + channel] = static_cast<int8_t>(code);
      }
    }
  }
  return made;
}

void take_weights(const Operand& weights, const Operand& scales, const Operand& zeros,
                  Layer& layer) {
  const size_t taps = layer.window->kernel[0] * layer.window->kernel[1];
  layer.n = static_cast<size_t>(weights.shape[0]);
  layer.values = static_cast<size_t>(weights.shape[1]);
  require(layer.n != 0 && layer.values != 0, "empty weights");
  layer.k = taps * layer.values;
  if (!is_plain(*layer.window)) layer.taps = taps;
  layer.own_codes =
      codes_of_taps(weights, zeros_of(zeros, weights.type, layer.n), taps, layer.values);
  layer.own_scales = spread_floats(scales, layer.n);
  tw_rhs_source& source = layer.source;
  source.order = TW_NXK;
  source.data = layer.own_codes.data();
  source.stride = layer.k;
  source.data_bytes = layer.n * layer.k;
  source.scales = layer.own_scales.data();
  source.scale_count = layer.n;
}

/// Of int32, with which no sum may leave 32 bits.
void take_whole_bias(const Operand& bias, Layer& layer) {
  if (!bias.is_there()) return;
  require(bias.is_constant() && bias.type == type_i32 && value_count(bias) == layer.n,
          "a bias that is no constant int32 of each output");
  constexpr int64_t kMost = std::numeric_limits<int32_t>::max(), kProduct = 255 * 128;
  const auto* values = static_cast<const int32_t*>(bias.data);
  const bool fits = std::all_of(values, values + layer.n, [&](int32_t value) {
    return std::abs(int64_t{value}) + static_cast<int64_t>(layer.k) * kProduct <= kMost;
  });
  require(fits, "sums that may leave 32 bits");
  layer.source.bias = bias.data;
  layer.source.bias_count = layer.n;
}

}  // namespace

/// x, its scale and zero point; w, likewise; the output's scale and zero point; bias.
Layer describe_convolution(const NodeFacts& node) {
  const Operand &images = node.input(0), &weights = node.input(3);
  require(is_code_type(images.type) && node.outputs[0].type == images.type,
          "activations of a type that we have no kernels for");
  require(weights.is_constant() && is_code_type(weights.type),
          "weights that are no constant codes");
  require(weights.shape.size() == 4, "images of other than two dimensions");
  require(node.integer("group", 1) == 1, "groups");
  Layer layer;
  layer.family = "matmul_clamp_qai8_qai8p_qsi8cxp";
  layer.has_codes_out = true;
  layer.input = images.name;
  layer.input_type = images.type;
  layer.window = window_of(node, weights);
  take_weights(weights, node.input(4), node.input(5), layer);
  take_quantization(node.input(1), node.input(2), node.input(6), node.input(7), layer);
  take_whole_bias(node.input(8), layer);
  return layer;
}

}  // namespace tw::onnxruntime
