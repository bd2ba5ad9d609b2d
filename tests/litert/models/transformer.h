// A block of a transformer, of random weights: attention of several heads, then a feed-forward
// network, behind a layer norm each; what goes into those is added to what comes out.
#pragma once

#include <vector>

#include "litert/models/layer.h"
#include "litert/models/model.h"

namespace tw::litert {

struct BlockShape {
  int32_t rows, width;
  int32_t heads;
  int32_t inner;  ///< width of the feed-forward network
};

struct Block {
  BlockShape shape;
  Layer queries, keys, values, out;
  Layer up, down;
  std::vector<float> attention_gain, inner_gain;  ///< of the norms, a column each
};

/// Of activations of f32.
Block random_block(const LayerKind& kind, const BlockShape& shape, std::mt19937& random);
Model block_model(const Block& block);
/// By plain loops; activations are not rounded to codes.
std::vector<double> exact_outputs(const Block& block, const std::vector<double>& inputs);

}  // namespace tw::litert
