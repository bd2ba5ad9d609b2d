// Micro-kernels of floats of both libraries in one form, as libraries.h has those of codes.
#pragma once

#include <cstddef>
#include <functional>
#include <vector>

#include "kleidiai/names/libraries.h"

namespace tw::test {

/// Activations that are packed, with so many rows a panel, or rows with a stride.
struct FloatMatmul {
  size_t m_step = 0, n_step = 0, mr = 0, nr = 0, kr = 0, sr = 0;
  std::function<size_t(size_t m, size_t k, size_t stride)> lhs_offset;
  size_t (*rhs_offset)(size_t n, size_t k) = nullptr;
  size_t (*dst_offset)(size_t m, size_t n, size_t stride) = nullptr;
  size_t (*dst_size)(size_t m, size_t n) = nullptr;
  std::function<void(size_t m, size_t n, size_t k, const void* lhs, size_t lhs_stride,
                     const void* rhs, void* dst, size_t row_stride, size_t column_stride, float min,
                     float max)>
      run;
};

struct FloatPacker {
  size_t n_step = 0;
  size_t kr = 0;  ///< what it takes
  std::function<size_t(size_t n, size_t stride)> offset;
  size_t (*bias_offset)(size_t n) = nullptr;
  std::function<size_t(size_t n, size_t k)> packed_offset, packed_size;
  void (*run)(size_t groups, size_t n, size_t k, size_t nr, size_t kr, size_t sr, size_t stride,
              const void* rhs, const void* bias, const void* scale, void* packed, size_t extra,
              const void* params) = nullptr;
};

/// All that ours has, but names for SME where there is none.
const std::vector<Both<FloatMatmul>>& float_matmuls();
const std::vector<Both<LhsPacker>>& float_lhs_packers();
const std::vector<Both<FloatPacker>>& float_packers();

/// How far panels are apart, or columns in a panel, of packers that say so.
struct PackedStride {
  size_t (*theirs)(size_t k);
  size_t (*ours)(size_t k);
};
std::vector<PackedStride> packed_strides();

}  // namespace tw::test
