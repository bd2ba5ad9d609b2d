// Networks of convolutions, as phones run them: MobileNet's stages, of random weights.
#pragma once

#include <vector>

#include "litert/models/layer_models.h"

namespace tw::litert {

struct Stage {
  Layer layer;
  ImageShape shape;
  bool is_depthwise = false;
};

/// Behind the stages each channel's average, and a convolution of 1 x 1 that makes the outputs.
struct Network {
  std::vector<Stage> stages;
  Stage last;
};

/// MobileNet's first version for images of size x size, a multiple of 32.
Network mobile_network(const LayerKind& kind, int32_t size, std::mt19937& random);
Model network_model(const Network& network);
/// By plain loops; neither activations nor outputs are rounded to codes.
std::vector<double> exact_outputs(const Network& network, std::vector<double> values);

}  // namespace tw::litert
