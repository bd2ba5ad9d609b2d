#include "integrations/onnxruntime/images.h"

#include <algorithm>

#include "tilewright/convolution.h"
#include "tilewright/tilewright.hpp"

namespace tw::onnxruntime {

namespace {

constexpr size_t kTile = 32;  ///< of a matrix that is transposed, so that both sides stay in L1

/// `rows` of `columns` bytes become columns, with the bits of `flipped` changed.
void transpose(const uint8_t* from, size_t rows, size_t columns, uint8_t* to, uint8_t flipped,
               const Threads& threads) {
  for_slices(threads, (rows + kTile - 1) / kTile, [&](size_t slice, size_t) {
    const size_t row_end = std::min(rows, (slice + 1) * kTile);
    for (size_t begin = 0; begin < columns; begin += kTile) {
      const size_t end = std::min(columns, begin + kTile);
      for (size_t row = slice * kTile; row < row_end; ++row) {
        for (size_t column = begin; column < end; ++column) {
          to[column * rows + row] = static_cast<uint8_t>(from[row * columns + column] ^ flipped);
        }
      }
    }
  });
}

tw_convolution convolution_of(const Layer& layer, const std::vector<int64_t>& images) {
  const Window& window = *layer.window;
  auto made = tilewright::sized<tw_convolution>();
  made.height = static_cast<size_t>(images[2]);
  made.width = static_cast<size_t>(images[3]);
  made.pixel_bytes = layer.values;
  made.kernel_height = window.kernel[0];
  made.kernel_width = window.kernel[1];
  made.stride_height = window.strides[0];
  made.stride_width = window.strides[1];
  made.dilation_height = window.dilations[0];
  made.dilation_width = window.dilations[1];
  made.top = window.before[0];
  made.left = window.before[1];
  made.bottom = window.after[0];
  made.right = window.after[1];
  return made;
}

tw_convolution_outputs outputs_of(const tw_convolution& convolution) {
  auto outputs = tilewright::sized<tw_convolution_outputs>();
  tilewright::check(tw_convolution_part(&convolution, 0, &outputs));
  return outputs;
}

/// What the rows of a product are, pixels as they lie or a table of them.
struct Rows {
  std::vector<const void*> table;
  std::vector<int8_t> pad;
  tw_indirect indirect = tilewright::sized<tw_indirect>();

  void set(const Layer& layer, const tw_convolution& convolution, const uint8_t* pixels,
           Product& product) {
    if (layer.taps == 0) {
      product.lhs.data = pixels;
      product.lhs.stride = layer.k;
      product.lhs.data_bytes = product.args.m * layer.k;
      return;
    }
    table.resize(product.args.m * layer.taps);
    pad.assign(layer.values, static_cast<int8_t>(layer.input_zero));
    tilewright::check(
        tw_convolution_rows(&convolution, 0, pixels, pad.data(), 1, table.data(), table.size()));
    indirect.rows = table.data();
    indirect.row_count = table.size();
    indirect.tile = 1;
    indirect.pad = pad.data();
    product.lhs.indirect = &indirect;
  }
};

}  // namespace

std::vector<int64_t> convolved_shape(const Layer& layer, const std::vector<int64_t>& images) {
  require(images.size() == 4 && images[1] == static_cast<int64_t>(layer.values),
          "images of other channels than the weights");
  const Window& window = *layer.window;
  std::vector<int64_t> shape = {images[0], static_cast<int64_t>(layer.n), 0, 0};
  for (size_t i = 0; i < 2; ++i) {
    const size_t reach = (window.kernel[i] - 1) * window.dilations[i] + 1;
    const size_t padded = static_cast<size_t>(images[2 + i]) + window.before[i] + window.after[i];
    require(padded >= reach, "images that are smaller than the window");
    shape[2 + i] = static_cast<int64_t>((padded - reach) / window.strides[i] + 1);
  }
  return shape;
}

void run_images(const Layer& layer, const PackedWeights& weights, const Addresses& at,
                const Threads& threads, Scratch& images, Scratch& scratch) {
  const tw_convolution convolution = convolution_of(layer, at.shape);
  const size_t pixels = convolution.height * convolution.width;
  const auto count = static_cast<size_t>(at.shape[0]);
  if (count == 0 || pixels == 0) return;
  const tw_convolution_outputs outputs = outputs_of(convolution);
  const size_t m = outputs.lines * outputs.columns, image_bytes = pixels * layer.values;
  uint8_t* in = images.of(aligned(image_bytes) + m * layer.n);
  uint8_t* out = in + aligned(image_bytes);
  Product product = {weights, tilewright::sized<tw_lhs_source>(), tilewright::sized<tw_run_args>()};
  product.args.m = m;
  product.args.dst = out;
  product.args.dst_stride = layer.n;
  product.args.dst_bytes = m * layer.n;
  product.args.dst_zero_point = layer.output_zero;
  Rows rows;
  rows.set(layer, convolution, in, product);
  const uint8_t flipped = layer.input_type == type_u8 ? 0x80 : 0;
  for (size_t i = 0; i < count; ++i) {
    transpose(static_cast<const uint8_t*>(at.input) + i * image_bytes, layer.values, pixels, in,
              flipped, threads);
    run_product(product, threads, scratch);
    transpose(out, m, layer.n, static_cast<uint8_t*>(at.output) + i * product.args.dst_bytes,
              flipped, threads);
  }
}

}  // namespace tw::onnxruntime
