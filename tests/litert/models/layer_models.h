// Models of one layer.
#pragma once

#include <vector>

#include "litert/models/layer.h"
#include "litert/models/model.h"

namespace tw::litert {

/// Weights, and a bias, of 16 bits are made floats by nodes of their own, as converters write them.
struct MatrixShape {
  std::vector<int32_t> input;
  size_t n;
  bool keeps_dimensions = false;
};
size_t rows_of(const MatrixShape& shape);
Model fully_connected_model(const Layer& layer, const MatrixShape& shape);

/// By one constant matrix: k rows of n, or as many of k where it `transposes`.
struct BatchShape {
  std::vector<int32_t> left;
  size_t n;
  size_t leading_ones = 0;  ///< dimensions of the matrix
  bool transposes = false;
};
Model batch_matmul_model(const Layer& layer, const BatchShape& shape);

struct Image {
  int32_t count, height, width, channels;
};
struct ImageShape {
  Image image;
  int32_t kernel_height, kernel_width;
  size_t outputs;
  PaddingType padding = padding_same;
  int32_t stride = 1, dilation = 1;
  int32_t other_dilation = 0;  ///< that of columns; 0: as that of lines
};
Model convolution_model(const Layer& layer, const ImageShape& shape);
/// Of `outputs` with a row of taps each, as many for each channel.
Model depthwise_model(const Layer& layer, const ImageShape& shape);
/// The pixels that the kernel lies on, of each output.
std::vector<double> pixel_rows(const ImageShape& shape, const std::vector<double>& inputs,
                               double padding);
/// Transposed: as large as the shape's padding says, or with `more` lines and columns.
Model transposed_model(const Layer& layer, const ImageShape& shape, int32_t more = 0);
/// Likewise the pixels of each of its outputs, in the order of the kernel's taps.
std::vector<double> transposed_rows(const ImageShape& shape, const std::vector<double>& inputs,
                                    double padding, int32_t more = 0);
/// One output channel of a depthwise layer by itself, and its part of such pixels, which have fewer
/// channels where several outputs are of one.
Layer channel_of(const Layer& layer, size_t output);
std::vector<double> channel_rows(const Layer& layer, const ImageShape& shape,
                                 const std::vector<double>& rows, size_t output);
/// exact_products() of each.
std::vector<double> exact_channels(const Layer& layer, const ImageShape& shape,
                                   const std::vector<double>& rows);

}  // namespace tw::litert
