// Depthwise convolutions: each channel by itself.
#pragma once

#include <memory>

#include "integrations/litert/operation.h"
#include "tilewright/depthwise.h"

namespace tw::litert {

struct FreeDepthwisePlan {
  void operator()(tw_depthwise_plan* plan) const { tw_depthwise_destroy(plan); }
};
using DepthwisePlan = std::unique_ptr<tw_depthwise_plan, FreeDepthwisePlan>;

/// Throws tilewright::Error. `kernel`: that one only; null: the best.
DepthwisePlan depthwise_plan(const char* family, size_t channels, const tw_convolution& convolution,
                             const char* kernel = nullptr);

/// `args` has everything but what hangs on the images' size, and the weights. Throws
/// tilewright::Error or std::bad_alloc.
void run_depthwise(const Operation& operation, const Tensor& input, const void* pixels,
                   tw_run_args args, int threads);

}  // namespace tw::litert
