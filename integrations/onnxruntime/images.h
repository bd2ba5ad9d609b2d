// Running a convolution.
#pragma once

#include "integrations/onnxruntime/operation.h"

namespace tw::onnxruntime {

/// Throws Refused for images that the weights do not fit.
std::vector<int64_t> convolved_shape(const Layer& layer, const std::vector<int64_t>& images);

void run_images(const Layer& layer, const PackedWeights& weights, const Addresses& at,
                const Threads& threads, Scratch& images, Scratch& scratch);

}  // namespace tw::onnxruntime
