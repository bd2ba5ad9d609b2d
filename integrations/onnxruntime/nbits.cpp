// MatMulNBits: weights of 2, 4 or 8 bits in blocks of k, each with a scale and maybe a zero point.
#include "integrations/onnxruntime/layer.h"

namespace tw::onnxruntime {

namespace {

/// The accuracy level that quantizes activations, in the same blocks.
constexpr int64_t kCodes = 4;

/// Without zero points nibbles have kernels of their own, which have less to do.
const char* family_of(int64_t bits, bool has_zeros, bool has_codes) {
  if (!has_codes) {
    return bits == 4 ? "matmul_clamp_f32_f32_qai4c32p" : "matmul_clamp_f32_f32_qai8c32p";
  }
  if (bits == 2) return "matmul_clamp_f32_qsi8d32p_qai2c32p";
  if (bits == 8) return "matmul_clamp_f32_qsi8d32p_qai8c32p";
  return has_zeros ? "matmul_clamp_f32_qsi8d32p_qai4c32p" : "matmul_clamp_f32_qsi8d32p_qsi4c32p";
}

size_t blob_bytes(const Operand& blob, const char* otherwise) {
  require(blob.is_constant() && blob.type == type_u8, otherwise);
  return value_count(blob);
}

void take_blobs(const NodeFacts& node, size_t bits, Layer& layer) {
  const size_t blocks = layer.k / layer.block;
  tw_rhs_source& source = layer.source;
  source.order = TW_NBITS;
  source.data = node.input(1).data;
  source.data_bytes = blob_bytes(node.input(1), "weights that are no constant bytes");
  source.stride = blocks * (layer.block * bits / 8);
  require(source.data_bytes == layer.n * source.stride, "weights of another size");
  const Operand& scales = node.input(2);
  require(scales.is_constant() && scales.type == type_f32, "scales that are no constant float32");
  source.scales = scales.data;
  source.scale_count = value_count(scales);
  require(source.scale_count == layer.n * blocks, "scales of another number");
  if (!node.input(3).is_there()) return;
  source.zero_points = node.input(3).data;
  source.zero_point_count = blob_bytes(node.input(3), "zero points that are no constant codes");
  require(source.zero_point_count == layer.n * ((blocks * bits + 7) / 8),
          "zero points of another number");
}

}  // namespace

Layer describe_nbits(const NodeFacts& node) {
  const int64_t bits = node.integer("bits", 4), block = node.integer("block_size", 0);
  const int64_t n = node.integer("N", 0), k = node.integer("K", 0);
  require(bits == 2 || bits == 4 || bits == 8, "codes of other than 2, 4 or 8 bits");
  require(block == 16 || block == 32 || block == 64 || block == 128 || block == 256,
          "blocks of other than 16, 32, 64, 128 or 256");
  const bool has_codes = node.integer("accuracy_level", 0) == kCodes;
  require(bits != 2 || has_codes, "codes of 2 bits without accuracy level 4");
  require(bits != 2 || (block != 16 && block != 256), "codes of 2 bits in blocks of 16 or 256");
  require(n > 0 && k > 0, "no size");
  require(!node.input(4).is_there(), "values of k in another order");
  require(node.integer("weight_prepacked", 0) == 0, "weights in a layout of the host's");
  require(node.input(0).type == type_f32 && node.outputs[0].type == type_f32,
          "activations that are not float32");
  Layer layer;
  layer.n = static_cast<size_t>(n);
  layer.block = static_cast<size_t>(block);
  const auto values = static_cast<size_t>(k);
  layer.k = (values + layer.block - 1) / layer.block * layer.block;
  take_input(node.input(0), values, layer);
  take_blobs(node, static_cast<size_t>(bits), layer);
  take_bias(node.input(5), layer);
  const bool has_zeros = layer.source.zero_points != nullptr;
  layer.family = family_of(bits, has_zeros, has_codes);
  if (bits == 4 && has_codes && !has_zeros) {
    layer.source.order = TW_NXK;  // the same bytes
    layer.source.unsigned_nibbles = 1;
  }
  return layer;
}

}  // namespace tw::onnxruntime
