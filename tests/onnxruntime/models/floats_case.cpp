#include <cmath>

#include "onnxruntime/models/cases.h"

namespace tw::onnxruntime {

namespace {

std::vector<OnnxAttribute> attributes_of(const FloatsShape& shape) {
  std::vector<OnnxAttribute> made;
  if (shape.operation == "MatMul") return made;
  made.push_back({"transB", int64_t{shape.is_transposed}});
  made.push_back({"alpha", shape.alpha});
  if (shape.operation == "Gemm") made.push_back({"beta", shape.beta});
  return made;
}

}  // namespace

Case floats_case(const FloatsShape& shape, std::mt19937& random) {
  const size_t m = product_of(shape.rows), n = static_cast<size_t>(shape.n),
               k = static_cast<size_t>(shape.k);
  const std::vector<float> a = random_floats(m * k, 2, random), b = random_floats(n * k, 2, random);
  const bool is_one = shape.addend == FloatsShape::one;
  const std::vector<float> c = random_floats(is_one ? 1 : n, 2, random);
  OnnxNode node{shape.operation, {"a", "b"}, {"y"}, attributes_of(shape), ""};
  if (shape.operation == "FusedMatMul") node.maker = "com.microsoft";
  const bool has_addend = shape.addend != FloatsShape::none;
  if (has_addend) node.inputs.push_back("c");
  Case made = case_of(node, shape.rows, shape.k, shape.n, f32, f32);
  made.inputs[0].bytes = bytes_of(a);
  std::vector<int64_t> matrix = {shape.k, shape.n};
  if (shape.is_transposed) std::swap(matrix[0], matrix[1]);
  made.model.constants.push_back({"b", f32, matrix, bytes_of(b)});
  if (has_addend) {
    made.model.constants.push_back({"c", f32, {static_cast<int64_t>(c.size())}, bytes_of(c)});
  }
  if (shape.addend == FloatsShape::input) make_input(made, "c");
  for (size_t i = 0; i < m; ++i) {
    for (size_t j = 0; j < n; ++j) {
      double sum = has_addend ? double{shape.beta} * c[is_one ? 0 : j] : 0, size = std::abs(sum);
      for (size_t l = 0; l < k; ++l) {
        const double term = double{a[i * k + l]} * b[shape.is_transposed ? j * k + l : l * n + j];
        sum += term * shape.alpha;
        size += std::abs(term * shape.alpha);
      }
      made.wanted.push_back(sum);
      made.bounds.push_back(size * static_cast<double>(k + 4) * 0x1p-23);
    }
  }
  return made;
}

}  // namespace tw::onnxruntime
