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

/// Of one line of outputs, for whose window there are so many pixels in each line. Weights are
/// packed alike for any. Throws tilewright::Error. `kernel`: that one only; null: the best.
DepthwisePlan depthwise_plan(const Scheme& scheme, size_t channels, const Taps& taps, size_t pixels,
                             const char* kernel = nullptr);

/// `args` has everything but what hangs on the images' size, and the weights. Throws
/// tilewright::Error or std::bad_alloc.
void run_depthwise(const Operation& operation, const Tensor& input, const void* pixels,
                   tw_run_args args, int threads);

}  // namespace tw::litert
