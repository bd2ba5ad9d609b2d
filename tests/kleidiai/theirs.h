// KleidiAI's kernels of qai8dx by qsi4cx and their packers, called as its headers say.
#pragma once

#include <cstdint>
#include <ostream>
#include <vector>

#include "kleidiai/problem.h"

namespace tw::test {

struct TheirKernel {
  const char* name;
  size_t mr, nr;  ///< rows of an LHS panel, columns of a RHS panel
  size_t kr, sr;
  void (*run)(size_t m, size_t n, size_t k, const void* lhs, const void* rhs, float* dst,
              size_t dst_stride_row, size_t dst_stride_column, float min, float max);

  /// Values of k of a row that stay together.
  [[nodiscard]] size_t depth() const { return kr / sr; }
};

inline void PrintTo(const TheirKernel& kernel, std::ostream* out) {
  *out << kernel.name;
}

/// Those for dot products and for int8 matrix products.
const std::vector<TheirKernel>& their_kernels();

/// What they leave unwritten is 0xa5.
std::vector<uint8_t> their_lhs(const TheirKernel& kernel, const Activations& lhs);
std::vector<uint8_t> their_rhs(const TheirKernel& kernel, const Weights& rhs);
std::vector<float> their_product(const TheirKernel& kernel, const Shape& shape,
                                 const std::vector<uint8_t>& lhs, const std::vector<uint8_t>& rhs,
                                 const Bounds& bounds);

}  // namespace tw::test
