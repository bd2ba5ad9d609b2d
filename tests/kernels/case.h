// One call of one kernel: shape, portion of the output, values, bias, clamp, memory placement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "reference/code_tables.h"
#include "reference/matmul_reference.h"
#include "support/guarded_buffer.h"
#include "tilewright/registry.h"

namespace tw::test {

enum class Values {
  random,
  extreme,
  equal,
  zeros,
  outlier,
  denormal_scales,
  huge_scales,
  not_finite,      ///< weight scales and biases that are infinite, no numbers, or zero
  lhs_not_finite,  ///< activations that are: their row's outputs are NaNs, other rows do not care
  lhs_limits,      ///< rows of denormals, of the largest floats, of both signs
  count
};
enum class Bias { none, packed, argument, count };
enum class Clamp { none, lower, upper, both, count };

/// Rows [m0, m1) and columns [n0, n1) of the output.
struct Portion {
  size_t m0, m1, n0, n1;
};

struct Case {
  size_t m = 0, n = 0, k = 0;  ///< of the whole output
  Portion portion{};
  Values values = Values::random;
  Bias bias = Bias::packed;
  Clamp clamp = Clamp::none;
  Flush flush = Flush::end;
  size_t misalign = 0;       ///< bytes, of every operand
  size_t dst_padding = 0;    ///< bytes between the rows of the output
  size_t panel_padding = 0;  ///< bytes between packed panels
  size_t prefetch = 0;       ///< tw_args::rhs_prefetch
  bool kxn = false;          ///< weights come as k rows of n codes; with blocks: as ggml has them
  bool unsigned_nibbles = false;  ///< weights of 4 bits come as code + 8
};

std::string to_string(const Case& test);

/// How a kernel has its operands.
struct Scaling {
  size_t block = 0;          ///< values of k that share a weight scale; 0: no blocks
  bool row_blocks = false;   ///< activations have scales per block, too
  std::string type = "f32";  ///< of weight scales
  int weight_bits = 4;
  bool zero_points = false;           ///< of columns, one with each scale
  bool minimums = false;              ///< likewise
  const CodeValues* table = nullptr;  ///< of what codes stand for; null: numbers
  size_t super_block = 0;  ///< values of k whose scales and minimums are in steps; 0: floats
  int least_number = 0, most_number = 0;  ///< of those
  int middle_bits = 0;                    ///< of a code, half of which count from zero; 0: all
  std::string byte_floats = {};           ///< "e4m3", "e5m2": what codes are the bits of

  /// Minus the lowest code.
  [[nodiscard]] int middle() const {
    return 1 << (std::min(middle_bits != 0 ? middle_bits : weight_bits, 8) - 1);
  }
};
Scaling scaling_of(const tw_kernel& kernel);
/// "f32", "f16", "bf16": of a packed rhs.
std::string scale_type(const tw_layout& rhs);

/// The unpacked operands and bounds of a case; the same for equal cases.
Matmul make_operands(const Case& test, const Scaling& scaling);
/// What the outputs are before a kernel adds to them; some are infinite or no numbers.
std::vector<float> old_outputs(const Case& test, const std::string& type);

/// All edges in m, n and k together; options are dealt out in turn.
std::vector<Case> shape_cases(const tw_kernel& kernel);
/// Every number of rows and of columns that a tile can be left with.
std::vector<Case> tail_cases(const tw_kernel& kernel);
/// Every combination of bias, clamp, values, placement on a few shapes.
std::vector<Case> option_cases(const tw_kernel& kernel);
/// Parts of a larger output, cut where panels end.
std::vector<Case> portion_cases(const tw_kernel& kernel);
/// Depths at which 32-bit accumulators come closest to their limits.
std::vector<Case> deep_cases(const tw_kernel& kernel);

}  // namespace tw::test
