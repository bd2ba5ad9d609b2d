// Models of one node with random numbers, and what comes out by plain loops in double precision of
// the same codes: outputs differ in how f32 sums are rounded only.
#pragma once

#include <random>

#include "onnxruntime/models/onnx.h"

namespace tw::onnxruntime {

struct Case {
  OnnxModel model;  ///< whose last output is "y"
  std::vector<Tensor> inputs;
  std::vector<double> wanted, bounds;  ///< of y, and of the largest difference
};

struct NbitsShape {
  std::vector<int64_t> rows;  ///< the input's shape without k
  int64_t n, k, block;
  int64_t bits = 4;
  bool has_zeros = true, has_bias = false;
  int64_t accuracy = 4;
};
Case nbits_case(const NbitsShape& shape, std::mt19937& random);

struct FloatsShape {
  std::string operation = "MatMul";  ///< FusedMatMul, Gemm
  std::vector<int64_t> rows;
  int64_t n, k;
  bool is_transposed = false;
  float alpha = 1, beta = 1;
  enum { none, constant, one, input } addend = none;
};
Case floats_case(const FloatsShape& shape, std::mt19937& random);

struct IntegersShape {
  std::string operation = "DynamicQuantizeMatMul";  ///< MatMulIntegerToFloat, QLinearMatMul,
                                                    ///< MatMulInteger
  std::vector<int64_t> rows;
  int64_t n, k;
  int32_t rows_type = u8, weights_type = i8;
  bool by_columns = true;  ///< scales and zero points
  bool has_zeros = true, has_bias = false;
  bool has_wide_weights = false;  ///< that leave 8 bits without their zero points
};
Case integers_case(const IntegersShape& shape, std::mt19937& random);

struct ImagesShape {
  int64_t count, channels, height, width;
  int64_t outputs;
  std::vector<int64_t> kernel = {1, 1}, strides = {1, 1}, dilations = {1, 1};
  std::vector<int64_t> pads = {0, 0, 0, 0};  ///< top, left, bottom, right
  int32_t images_type = u8, weights_type = i8;
  bool by_outputs = true, has_bias = true;
};
Case images_case(const ImagesShape& shape, std::mt19937& random);

/// The same with this input instead of a constant.
void make_input(Case& of, const std::string& constant);

// ---- parts of cases ----

std::vector<float> random_floats(size_t count, float largest, std::mt19937& random);
std::vector<uint8_t> random_bytes(size_t count, std::mt19937& random);
size_t product_of(const std::vector<int64_t>& extents);
/// Input `a` and output `y` of rows, and the only node.
Case case_of(OnnxNode node, const std::vector<int64_t>& rows, int64_t k, int64_t n, int32_t type_in,
             int32_t type_out);

}  // namespace tw::onnxruntime
