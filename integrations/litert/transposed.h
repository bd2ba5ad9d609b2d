// Transposed convolutions: products of parts of the weights, whose outputs are a stride apart.
#pragma once

#include "integrations/litert/operation.h"

namespace tw::litert {

/// For outputs of that size; nothing where such a convolution has another input.
std::optional<TransposedWindow> transposed_window(const Tensor& input, const Tensor& weights,
                                                  const TransposedOptions& options,
                                                  size_t output_height, size_t output_width);

/// Throws Refused for an input that the weights do not fit.
std::vector<int32_t> transposed_shape(const Operation& operation, const Tensor& input);

/// `args` has everything but what hangs on the parts. Throws tilewright::Error or std::bad_alloc.
void run_transposed(const Operation& operation, const Tensor& input, const void* pixels,
                    tw_run_args args, int threads, Scratch& scratch);

}  // namespace tw::litert
