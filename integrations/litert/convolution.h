// Convolutions: products whose rows are the pixels that the kernel lies on.
#pragma once

#include "integrations/common/pixel_table.h"
#include "integrations/litert/operation.h"

namespace tw::litert {

/// Whether a row of the product is an input pixel as it lies.
bool is_plain(const Window& window);

/// What an image has, and what lies around it: codes for a quantized image are of one scale, those
/// for the padding are zero points.
struct PixelType {
  size_t bytes_of_value;
  int32_t zero_point;
};
PixelType pixel_type(const Operation& operation, const Tensor& input);

tw_convolution convolution_of(const Window& window, const Tensor& input, size_t pixel_bytes);

/// Throws Refused for an input that the weights do not fit.
std::vector<int32_t> convolved_shape(const Operation& operation, const Tensor& input);

/// `product` has everything but its rows, whose number and the outputs' size are set here.
void run_convolution(const Operation& operation, const Tensor& input, const void* pixels,
                     Product& product, int threads, Scratch& scratch);

}  // namespace tw::litert
