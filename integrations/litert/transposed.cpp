#include "integrations/litert/transposed.h"

#include <algorithm>
#include <cstring>

#include "integrations/litert/convolution.h"
#include "integrations/litert/tensors.h"
#include "tilewright/tilewright.hpp"

namespace tw::litert {

namespace {

/// In one direction.
struct Along {
  size_t before, behind;  ///< that is cut off
  size_t more;            ///< that is behind what the input reaches
};

/// The format has the padding of the convolution that goes the other way.
std::optional<Along> along(PaddingType padding, size_t input, size_t kernel, size_t stride,
                           size_t output) {
  const bool same = padding == padding_same;
  if (!same && output < kernel) return std::nullopt;
  const size_t expected = same ? (output + stride - 1) / stride : (output - kernel) / stride + 1;
  if (input == 0 || input != expected) return std::nullopt;
  const size_t whole = (input - 1) * stride + kernel;
  const size_t before = whole > output ? (whole - output) / 2 : 0;
  const size_t rest = whole - before;
  return Along{before, rest > output ? rest - output : 0, rest > output ? 0 : output - rest};
}

/// A part's rows to their places among the outputs.
void spread(const uint8_t* rows, const tw_convolution_outputs& part, size_t row_bytes,
            uint8_t* image) {
  for (size_t y = 0; y < part.lines; ++y) {
    const size_t line = (part.line + y * part.line_step) * part.width;
    for (size_t x = 0; x < part.columns; ++x, rows += row_bytes) {
      std::memcpy(image + (line + part.column + x * part.column_step) * row_bytes, rows, row_bytes);
    }
  }
}

}  // namespace

std::optional<TransposedWindow> transposed_window(const Tensor& input, const Tensor& weights,
                                                  const TransposedOptions& options,
                                                  size_t output_height, size_t output_width) {
  TransposedWindow window = {};
  window.height = extent(input, 1);
  window.width = extent(input, 2);
  window.kernel_height = extent(weights, 1);
  window.kernel_width = extent(weights, 2);
  window.stride_height = static_cast<size_t>(options.stride_height);
  window.stride_width = static_cast<size_t>(options.stride_width);
  const auto lines = along(options.padding, window.height, window.kernel_height,
                           window.stride_height, output_height);
  const auto columns =
      along(options.padding, window.width, window.kernel_width, window.stride_width, output_width);
  if (!lines || !columns) return std::nullopt;
  window.top = lines->before;
  window.bottom = lines->behind;
  window.more_height = lines->more;
  window.left = columns->before;
  window.right = columns->behind;
  window.more_width = columns->more;
  return window;
}

std::vector<int32_t> transposed_shape(const Operation& operation, const Tensor& input) {
  const TransposedWindow& window = *operation.transposed;
  if (rank(input) != 4 || extent(input, 1) != window.height || extent(input, 2) != window.width) {
    throw Refused("an input of another size than its outputs were given for");
  }
  auto part = tilewright::sized<tw_convolution_outputs>();
  const tw_convolution convolution = convolution_of(window, 1);
  tilewright::check(tw_convolution_part(&convolution, 0, &part));
  return {input.dims->data[0], static_cast<int32_t>(part.height), static_cast<int32_t>(part.width),
          static_cast<int32_t>(outputs_of(operation))};
}

void run_transposed(const Operation& operation, const Tensor& input, const void* pixels,
                    tw_run_args args, int threads, Scratch& scratch) {
  const PixelType pixel = pixel_type(operation, input);
  const size_t pixel_bytes = extent(input, 3) * pixel.bytes_of_value;
  const size_t image_bytes = extent(input, 1) * extent(input, 2) * pixel_bytes;
  const tw_convolution convolution = convolution_of(*operation.transposed, pixel_bytes);
  auto* const outputs = static_cast<uint8_t*>(args.dst);
  for (size_t i = 0; i < operation.parts.size(); ++i) {
    PixelTable table = pixel_table(convolution, i, pixels, pixel.zero_point);
    args.m = table.outputs.lines * table.outputs.columns;
    args.dst_bytes = args.m * args.dst_stride;
    std::vector<uint8_t> rows(args.dst_bytes);
    args.dst = rows.data();
    Product product = {*operation.parts[i], tilewright::sized<tw_lhs_source>(), args};
    product.lhs.indirect = &table.indirect;
    uint8_t* image = outputs;
    for (size_t j = 0; j < extent(input, 0); ++j) {
      run_product(product, {threads}, scratch);
      spread(rows.data(), table.outputs, args.dst_stride, image);
      table.indirect.offset += image_bytes;
      image += table.outputs.height * table.outputs.width * args.dst_stride;
    }
  }
}

}  // namespace tw::litert
