// Random operands of names of floats, what their products are, and how far from those sums may be.
#pragma once

#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "kleidiai/names/float_libraries.h"

namespace tw::test {

bool has(const std::string& name, const char* part);

/// What a name says of types. Values that are not rounded to bf16 are what the caller has.
struct FloatKind {
  size_t bytes = 0;       ///< of the caller's values
  size_t bias_bytes = 0;  ///< of biases
  size_t dst_bytes = 0;   ///< of matmuls: of outputs
  bool bf16 = false;      ///< values are rounded to that as they are packed
  bool f16_sums = false;  ///< of matmuls
};
FloatKind kind_of_packer(const std::string& name);
FloatKind kind_of_matmul(const std::string& name);

/// Kernels that take no second row, where rows are not packed.
bool has_one_row(const std::string& name);
/// Names of NEON for operands of one type that say the bias's.
bool is_older(const std::string& name);
/// They cannot do without a bias, nor can those of SME.
bool needs_bias(const std::string& packer);
/// Biases beyond the last column are left as they were.
bool leaves_biases(const std::string& packer);

/// Weights in rows, and biases.
struct FloatWeights {
  size_t n = 0, k = 0;
  FloatKind kind;
  bool kxn = false;
  size_t stride = 0;
  std::vector<uint8_t> values, bias;

  [[nodiscard]] const void* bias_from(size_t at) const {
    return bias.empty() ? nullptr : bias.data() + at;
  }
};
/// For a packer; any bytes, or of those that it rounds any numbers.
FloatWeights random_weights_for(const std::string& packer, size_t n, size_t k,
                                std::mt19937& random);
/// Columns packed part by part, into a buffer of such bytes.
std::vector<uint8_t> pack(const FloatPacker& packer, const FloatWeights& weights, size_t part,
                          uint8_t before);
/// Rows packed part by part.
std::vector<uint8_t> pack(const LhsPacker& packer, const PanelShape& shape,
                          const std::vector<uint8_t>& rows, size_t m, size_t k, size_t stride,
                          size_t part, uint8_t before);

/// Any numbers, of such bytes each, infinite ones among them.
void fill_with_numbers(std::vector<uint8_t>& values, size_t bytes, std::mt19937& random);

struct FloatProduct {
  size_t m = 0, n = 0, k = 0;
  size_t m0 = 0, n0 = 0, rows = 0, columns = 0;  ///< the part that is computed
  FloatKind kind;
  size_t lhs_stride = 0, stride = 0;
  float min = 0, max = 0;
  bool whole = false;  ///< numbers whose sums are exact
  std::vector<uint8_t> lhs;
  FloatWeights weights;

  [[nodiscard]] float a(size_t i, size_t d) const;
  [[nodiscard]] float w(size_t d, size_t j) const;
};
FloatProduct random_product(const Both<FloatMatmul>& kernel, std::mt19937& random);

/// What outputs are before.
constexpr float untouched = 1232;
/// `lhs`: the rows, or those of packed ones.
std::vector<uint8_t> multiply(const FloatMatmul& kernel, const FloatProduct& it,
                              const std::vector<uint8_t>& lhs, const std::vector<uint8_t>& rhs);

/// Each within its bound of what is right, and nothing written beside the part. `worst` becomes the
/// largest error of ours as a share of its bound.
void compare(const FloatProduct& it, const std::vector<uint8_t>& ours,
             const std::vector<uint8_t>& theirs, double& worst);

}  // namespace tw::test
