// MatMul, FusedMatMul and Gemm.
#include "onnxruntime/runner.h"

namespace tw::onnxruntime {
namespace {

class Floats : public OnnxTest {
 protected:
  std::mt19937 random{13};
};

TEST_F(Floats, ProductsOfAnyShape) {
  std::vector<Case> made;
  for (const std::vector<int64_t>& rows :
       std::vector<std::vector<int64_t>>{{1}, {7}, {130}, {2, 3}, {1, 2, 5}, {}}) {
    made.push_back(floats_case({"MatMul", rows, 37, 29}, random));
  }
  made.push_back(floats_case({"MatMul", {3}, 1, 1}, random));
  made.push_back(floats_case({"MatMul", {2}, 130, 300}, random));
  expect_right(made);
}

TEST_F(Floats, FusedProducts) {
  expect_right({floats_case({"FusedMatMul", {2, 3}, 37, 29, true, 0.3F}, random),
                floats_case({"FusedMatMul", {5}, 37, 29, false, -2}, random)});
}

TEST_F(Floats, GeneralProducts) {
  expect_right({
      floats_case({"Gemm", {5}, 37, 29}, random),
      floats_case({"Gemm", {5}, 37, 29, true, 0.5F, 1, FloatsShape::constant}, random),
      floats_case({"Gemm", {5}, 37, 29, false, 1, 0.7F, FloatsShape::constant}, random),
      floats_case({"Gemm", {1}, 8, 29, false, 1, 2, FloatsShape::one}, random),
      floats_case({"Gemm", {6}, 17, 9, true, 2, 1, FloatsShape::input}, random),
  });
}

TEST_F(Floats, OnTwoThreads) {
  RunOptions two;
  two.threads = 2;
  expect_right({floats_case({"MatMul", {50}, 300, 64}, random)}, two);
}

TEST_F(Floats, LeaveOthersToTheRuntime) {
  Case of = floats_case({"MatMul", {5}, 8, 16}, random);
  make_input(of, "b");
  expect_refused(of, "weights that are no constants");
  expect_refused(floats_case({"Gemm", {5}, 8, 16, false, 1, 0.5F, FloatsShape::input}, random),
                 "an input times a factor as addend");
  Case transposed = floats_case({"FusedMatMul", {16}, 8, 16, false, 1}, random);
  transposed.model.nodes[0].attributes.push_back({"transA", int64_t{1}});
  expect_refused(transposed, "activations that are transposed");
  Case by_rows = floats_case({"Gemm", {5}, 8, 16, false, 1, 1, FloatsShape::constant}, random);
  by_rows.model.constants.back().shape = {5, 1};
  by_rows.model.constants.back().bytes.resize(5 * sizeof(float));
  expect_refused(by_rows, "an addend that differs by rows");
}

}  // namespace
}  // namespace tw::onnxruntime
