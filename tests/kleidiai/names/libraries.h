// Both libraries side by side: KleidiAI, and ours, whose names begin with "our_" here.
// Micro-kernels of all families in one form.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <ostream>
#include <string>
#include <vector>

namespace tw::test {

/// Arguments that a family has none of (the length of blocks) are left out of the call.
struct Matmul {
  size_t dst_bytes = 0;
  bool f16 = false;  ///< outputs; else bf16, where they have two bytes
  size_t m_step = 0, n_step = 0, mr = 0, nr = 0, kr = 0, sr = 0;
  std::function<size_t(size_t m, size_t k, size_t bl)> lhs_offset;
  std::function<size_t(size_t n, size_t k, size_t bl)> rhs_offset;
  std::function<size_t(size_t m, size_t n, size_t stride)> dst_offset;
  std::function<size_t(size_t m, size_t n)> dst_size;
  std::function<void(size_t m, size_t n, size_t k, size_t bl, const void* lhs, const void* rhs,
                     void* dst, size_t row_stride, size_t column_stride, float min, float max,
                     const int32_t* table)>
      run;
};

/// The shape of panels, and of blocks where there are some.
struct PanelShape {
  size_t panel = 0, kr = 0, sr = 0, bl = 0;
};

struct LhsPacker {
  bool takes_all = false;  ///< the whole operand, of which `start` is the first row
  std::function<size_t(size_t mr)> step;
  std::function<size_t(size_t m, size_t stride)> offset;
  std::function<size_t(size_t m, size_t k, const PanelShape&)> packed_offset, packed_size;
  std::function<void(size_t m, size_t k, const PanelShape&, size_t start, const void* lhs,
                     size_t stride, void* packed)>
      run;
};

/// Weights as the caller has them; members that a packer does not take are left out.
struct RhsSource {
  const void* codes = nullptr;
  size_t stride = 0;
  const float* bias = nullptr;
  const void* scales = nullptr;
  size_t scale_stride = 0;
  bool unsigned_codes = false;
  const void* offsets = nullptr;
  const int32_t* table = nullptr;
};

struct RhsPacker {
  std::function<size_t(size_t nr)> step;
  std::function<size_t(size_t n, size_t stride)> offset;
  std::function<size_t(size_t k, const PanelShape&)> packed_stride;
  std::function<size_t(size_t n, size_t k, const PanelShape&)> packed_offset, packed_size;
  std::function<void(size_t n, size_t k, const PanelShape&, const RhsSource&, void* packed)> run;
};

/// A micro-kernel of both libraries.
template <typename T>
struct Both {
  std::string name;
  T theirs, ours;
};

template <typename T>
void PrintTo(const Both<T>& both, std::ostream* out) {
  *out << both.name;
}

/// Else its functions may not even be asked for their numbers.
bool runs_here(const std::string& name);

/// All that ours has, but names for SME where there is none, and names for SVE where vectors are
/// not of the 256 bits that KleidiAI's code behind them is for.
const std::vector<Both<Matmul>>& matmuls();
const std::vector<Both<LhsPacker>>& lhs_packers();
const std::vector<Both<RhsPacker>>& rhs_packers();

}  // namespace tw::test
