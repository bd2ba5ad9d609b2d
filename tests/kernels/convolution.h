// Convolutions by plain loops, and through the run-time API.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/convolution.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {

struct ConvolutionCase {
  size_t height = 5, width = 6, channels = 3, outputs = 5;  ///< channels and outputs of a group
  size_t groups = 1;
  size_t kernel_height = 3, kernel_width = 3, stride_height = 1, stride_width = 1;
  size_t dilation_height = 1, dilation_width = 1;
  size_t top = 0, bottom = 0, left = 0, right = 0;
  bool transposed = false;
  size_t more = 0;  ///< height and width that the output of a transposed one has besides
  size_t tile = 1;  ///< of the table

  [[nodiscard]] size_t taps() const { return kernel_height * kernel_width; }
  [[nodiscard]] size_t depth() const { return taps() * channels; }
  [[nodiscard]] size_t weights() const { return groups * outputs * depth(); }
  [[nodiscard]] size_t inputs() const { return height * width * groups * channels; }
  /// Padding on one side, strides, dilation, groups; channels that no vector holds; of outputs that
  /// fill a tile, and one more.
  [[nodiscard]] static std::vector<ConvolutionCase> all();
};
std::string to_string(const ConvolutionCase& c);

/// Of values [height][width][groups * channels], weights [groups][outputs][taps][channels].
struct ConvolutionSums {
  size_t height = 0, width = 0;
  std::vector<double> sums;   ///< [height][width][groups * outputs]
  std::vector<double> sizes;  ///< likewise, of absolute values
};
ConvolutionSums convolve(const ConvolutionCase& c, const std::vector<double>& values,
                         const std::vector<double>& weights);

/// What a plan, weights and a call are told beside the shape.
struct ConvolutionLayer {
  const char* family = nullptr;
  const char* isa = "";
  tw_type lhs = TW_F32, dst = TW_F32;
  const void* input = nullptr;
  const void* weights = nullptr;
  size_t weight_bytes = 4;                   ///< of one
  bool nibbles = false;                      ///< packed from two to a byte
  std::vector<float> scales = {};            ///< [groups * outputs], or none
  const void* bias = nullptr;                ///< likewise, of 32 bits each
  std::vector<uint8_t> zero = {0, 0, 0, 0};  ///< bytes of a value that is padding
  int32_t lhs_zero_point = 0, dst_zero_point = 0;
  float lhs_scale = 1, dst_scale = 1;
  int min = -128, max = 127;  ///< of codes
};

/// Bytes of the outputs. Scratch and image lie beside guard pages.
std::vector<uint8_t> run_convolution(const ConvolutionCase& c, const ConvolutionLayer& layer);

/// ISAs that this machine runs the family with.
std::vector<std::string> isas_of(const std::string& family);

}  // namespace tw::test
