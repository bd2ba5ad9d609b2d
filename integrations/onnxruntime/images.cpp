#include "integrations/onnxruntime/images.h"

#include <algorithm>
#include <cstring>
#include <optional>

#include "integrations/common/pixel_table.h"
#include "tilewright/tilewright.hpp"

namespace tw::onnxruntime {

namespace {

/// Of 8 words of 8 bytes: byte j of word i and byte i of word j change places.
void transpose_words(uint64_t (&words)[8]) {
  constexpr struct {
    size_t distance;
    int bits;
    uint64_t low;
  } kSteps[] = {
      {4, 32, 0x00000000ffffffff}, {2, 16, 0x0000ffff0000ffff}, {1, 8, 0x00ff00ff00ff00ff}};
  for (const auto& step : kSteps) {
    for (size_t i = 0; i < 8; ++i) {
      if ((i & step.distance) != 0) continue;
      uint64_t &first = words[i], &second = words[i + step.distance];
      const uint64_t changed = (first >> step.bits ^ second) & step.low;
      second ^= changed;
      first ^= changed << step.bits;
    }
  }
}

/// A matrix of bytes that becomes another, its rows columns, with some bits changed.
struct Transposed {
  const uint8_t* from;
  size_t rows, columns;
  uint8_t* to;
  uint8_t flipped;

  /// At most 8 of each.
  void copy_some(size_t row, size_t row_end, size_t column, size_t column_end) const {
    for (size_t i = row; i < row_end; ++i) {
      for (size_t j = column; j < column_end; ++j) {
        to[j * rows + i] = static_cast<uint8_t>(from[i * columns + j] ^ flipped);
      }
    }
  }
  void copy_block(size_t row, size_t column) const {
    uint64_t words[8];
    for (size_t i = 0; i < 8; ++i) {
      std::memcpy(&words[i], from + (row + i) * columns + column, sizeof *words);
    }
    transpose_words(words);
    for (size_t i = 0; i < 8; ++i) {
      words[i] ^= flipped * 0x0101010101010101U;
      std::memcpy(to + (column + i) * rows + row, &words[i], sizeof *words);
    }
  }
  void copy_rows(size_t row, size_t row_end) const {
    for (size_t column = 0; column < columns; column += 8) {
      const size_t column_end = std::min(columns, column + 8);
      for (size_t i = row; i < row_end; i += 8) {
        const size_t end = std::min(row_end, i + 8);
        if (end - i == 8 && column_end - column == 8) {
          copy_block(i, column);
        } else {
          copy_some(i, end, column, column_end);
        }
      }
    }
  }
};

void transpose(const Transposed& matrix, const Threads& threads) {
  constexpr size_t kRows = 64;  // whole lines of a cache are written
  for_slices(threads, (matrix.rows + kRows - 1) / kRows, [&](size_t slice, size_t) {
    matrix.copy_rows(slice * kRows, std::min(matrix.rows, (slice + 1) * kRows));
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
  const std::vector<int64_t> shape = convolved_shape(layer, at.shape);
  const auto m = static_cast<size_t>(shape[2] * shape[3]);
  const size_t image_bytes = pixels * layer.values;
  uint8_t* in = images.of(aligned(image_bytes) + m * layer.n);
  uint8_t* out = in + aligned(image_bytes);
  Product product = {weights, tilewright::sized<tw_lhs_source>(), tilewright::sized<tw_run_args>()};
  product.args.m = m;
  product.args.dst = out;
  product.args.dst_stride = layer.n;
  product.args.dst_bytes = m * layer.n;
  product.args.dst_zero_point = layer.output_zero;
  std::optional<PixelTable> table;
  if (layer.taps == 0) {  // rows are pixels as they lie
    product.lhs.data = in;
    product.lhs.stride = layer.k;
    product.lhs.data_bytes = m * layer.k;
  } else {
    table = pixel_table(convolution, 0, in, layer.input_zero);
    product.lhs.indirect = &table->indirect;
  }
  const uint8_t flipped = layer.input_type == type_u8 ? 0x80 : 0;
  for (size_t i = 0; i < count; ++i) {
    transpose({static_cast<const uint8_t*>(at.input) + i * image_bytes, layer.values, pixels, in,
               flipped},
              threads);
    run_product(product, threads, scratch);
    transpose(
        {out, m, layer.n, static_cast<uint8_t*>(at.output) + i * product.args.dst_bytes, flipped},
        threads);
  }
}

}  // namespace tw::onnxruntime
