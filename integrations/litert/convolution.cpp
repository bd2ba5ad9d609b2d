#include "integrations/litert/convolution.h"

#include <algorithm>

#include "integrations/litert/tensors.h"
#include "tilewright/tilewright.hpp"

namespace tw::litert {

namespace {

/// In one direction.
struct Extent {
  size_t outputs, before, after;  ///< padding
};

Extent extent_of(PaddingType padding, size_t input, size_t kernel, int32_t stride_given,
                 int32_t dilation) {
  const auto stride = static_cast<size_t>(stride_given);
  const size_t reach = (kernel - 1) * static_cast<size_t>(dilation) + 1;
  if (padding == padding_valid) {
    if (input < reach) throw Refused("an input that is smaller than the kernel");
    return {(input - reach) / stride + 1, 0, 0};
  }
  const size_t outputs = (input + stride - 1) / stride;
  const size_t needed = (outputs - 1) * stride + reach;
  const size_t more = needed > input ? needed - input : 0;
  return {outputs, more / 2, more - more / 2};  // an odd one is at the end
}

Extent lines_of(const Window& window, const Tensor& input) {
  const ConvolutionOptions& its = window.options;
  return extent_of(its.padding, extent(input, 1), window.height, its.stride_height,
                   its.dilation_height);
}

Extent columns_of(const Window& window, const Tensor& input) {
  const ConvolutionOptions& its = window.options;
  return extent_of(its.padding, extent(input, 2), window.width, its.stride_width,
                   its.dilation_width);
}

}  // namespace

PixelType pixel_type(const Operation& operation, const Tensor& input) {
  if (operation.scheme->input != type_i8) return {sizeof(float), 0};
  return {1, whole_quantization(input).value().zero_point};
}

tw_convolution convolution_of(const Window& window, const Tensor& input, size_t pixel_bytes) {
  const Extent lines = lines_of(window, input), columns = columns_of(window, input);
  auto made = tilewright::sized<tw_convolution>();
  made.height = extent(input, 1);
  made.width = extent(input, 2);
  made.pixel_bytes = pixel_bytes;
  made.kernel_height = window.height;
  made.kernel_width = window.width;
  made.stride_height = static_cast<size_t>(window.options.stride_height);
  made.stride_width = static_cast<size_t>(window.options.stride_width);
  made.dilation_height = static_cast<size_t>(window.options.dilation_height);
  made.dilation_width = static_cast<size_t>(window.options.dilation_width);
  made.top = lines.before;
  made.bottom = lines.after;
  made.left = columns.before;
  made.right = columns.after;
  return made;
}

namespace {

/// Each image by itself: their rows are in one table, an image's size further.
void run_images(const Operation& operation, const Tensor& input, const void* pixels,
                Product& product, int threads, Scratch& scratch) {
  const PixelType pixel = pixel_type(operation, input);
  const size_t pixel_bytes = extent(input, 3) * pixel.bytes_of_value;
  const size_t image_bytes = extent(input, 1) * extent(input, 2) * pixel_bytes;
  const tw_convolution convolution = convolution_of(*operation.window, input, pixel_bytes);
  PixelTable table = pixel_table(convolution, 0, pixels, pixel.zero_point);
  product.args.m = table.outputs.lines * table.outputs.columns;
  product.args.dst_bytes = product.args.m * product.args.dst_stride;
  product.lhs.indirect = &table.indirect;
  for (size_t i = 0; i < extent(input, 0); ++i) {
    run_product(product, {threads}, scratch);
    table.indirect.offset += image_bytes;
    product.args.dst = static_cast<uint8_t*>(product.args.dst) + product.args.dst_bytes;
  }
}

}  // namespace

bool is_plain(const Window& window) {
  return window.height == 1 && window.width == 1 && window.options.stride_height == 1 &&
         window.options.stride_width == 1;
}

std::vector<int32_t> convolved_shape(const Operation& operation, const Tensor& input) {
  const Window& window = *operation.window;
  const bool by_channels = operation.weights->depthwise != nullptr;
  const size_t channels = by_channels ? operation.weights->n / operation.outputs_of_channel
                                      : operation.weights->k / (window.height * window.width);
  if (rank(input) != 4 || extent(input, 3) != channels)
    throw Refused("an input that is no images of as many channels as the weights");
  return {input.dims->data[0], static_cast<int32_t>(lines_of(window, input).outputs),
          static_cast<int32_t>(columns_of(window, input).outputs),
          static_cast<int32_t>(operation.weights->n)};
}

void run_convolution(const Operation& operation, const Tensor& input, const void* pixels,
                     Product& product, int threads, Scratch& scratch) {
  if (!is_plain(*operation.window)) {
    run_images(operation, input, pixels, product, threads, scratch);
    return;
  }
  product.args.m = extent(input, 0) * extent(input, 1) * extent(input, 2);
  product.args.dst_bytes = product.args.m * product.args.dst_stride;
  product.lhs.data = pixels;
  product.lhs.stride = operation.weights->k * pixel_type(operation, input).bytes_of_value;
  product.lhs.data_bytes = product.args.m * product.lhs.stride;
  run_product(product, {threads}, scratch);
}

}  // namespace tw::litert
