// Micro-kernels of depthwise convolutions of both libraries in one form: of whole tensors.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kleidiai/names/libraries.h"

namespace tw::test {

/// A tensor's pixels lie next to each other, and so do its rows; `of_lines` kernels want them so.
struct Planes {
  size_t rows = 0, cols = 0, channels = 0;  ///< of the input
  size_t top = 0, left = 0;
  size_t dst_rows = 0, dst_cols = 0;
  size_t in_col_bytes = 0, in_row_bytes = 0, dst_col_bytes = 0, dst_row_bytes = 0;
  float min = 0, max = 0;
};

struct DepthwiseName {
  bool of_lines = false;
  std::vector<size_t> numbers;  ///< that tell the window, steps, sizes and offsets
  std::function<void(const Planes&, const uint8_t* in, const uint8_t* rhs, uint8_t* dst)> run;
};

struct TapPacker {
  std::function<size_t(size_t height, size_t width, size_t channels)> size;
  std::function<void(size_t height, size_t width, size_t rhs_height, size_t channels,
                     const void* rhs, const void* bias, void* packed)>
      run;
};

std::vector<Both<DepthwiseName>> depthwise_names();
std::vector<Both<TapPacker>> tap_packers();

}  // namespace tw::test
