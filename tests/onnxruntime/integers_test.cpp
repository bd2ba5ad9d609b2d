// DynamicQuantizeMatMul, MatMulIntegerToFloat, QLinearMatMul and MatMulInteger.
#include <algorithm>

#include "onnxruntime/runner.h"

namespace tw::onnxruntime {
namespace {

class Integers : public OnnxTest {
 protected:
  std::mt19937 random{14};

  std::vector<Case> cases(const std::string& operation) {
    std::vector<Case> made;
    for (const int32_t weights : {u8, i8}) {
      for (const bool by_columns : {false, true}) {
        made.push_back(
            integers_case({operation, {5}, 37, 29, u8, weights, by_columns, true}, random));
        made.push_back(
            integers_case({operation, {1}, 70, 64, u8, weights, by_columns, true}, random));
      }
    }
    return made;
  }
};

TEST_F(Integers, FloatsByCodes) {
  std::vector<Case> made = cases("DynamicQuantizeMatMul");
  made.push_back(
      integers_case({"DynamicQuantizeMatMul", {2, 3}, 37, 29, u8, i8, true, false, true}, random));
  expect_right(made);
}

TEST_F(Integers, CodesByCodes) {
  const std::string operation = "MatMulIntegerToFloat";
  std::vector<Case> made = cases(operation);
  made.push_back(integers_case({operation, {5}, 37, 29, i8, i8, true, true, true}, random));
  Case at_run_time = made[0];
  for (const std::string number : {"a_scale", "a_zero"}) make_input(at_run_time, number);
  made.push_back(at_run_time);
  expect_right(made);
}

TEST_F(Integers, CodesOut) {
  std::vector<Case> made = cases("QLinearMatMul");
  made.push_back(integers_case({"QLinearMatMul", {4, 2}, 37, 29, i8, i8, true, true}, random));
  expect_right(made);
}

TEST_F(Integers, SumsOut) {
  const std::string operation = "MatMulInteger";
  std::vector<Case> made = cases(operation);
  for (const int32_t weights : {u8, i8}) {
    // All codes, and zero points with which they leave 8 bits.
    made.push_back(
        integers_case({operation, {2, 3}, 37, 70, i8, weights, true, true, false, true}, random));
    made.push_back(integers_case({operation, {5}, 37, 29, u8, weights, true, false}, random));
  }
  Case at_run_time = made[0];
  make_input(at_run_time, "a_zero");
  made.push_back(at_run_time);
  expect_right(made);
}

TEST_F(Integers, LeaveOtherSumsToTheRuntime) {
  const IntegersShape shape{"MatMulInteger", {5}, 8, 16};
  Case of_rows = integers_case(shape, random);
  auto& zero = *std::ranges::find(of_rows.model.constants, "a_zero", &Tensor::name);
  zero.shape = {5};
  zero.bytes = {1, 2, 3, 4, 5};
  expect_refused(of_rows, "other than one zero point for all activations");
  Case weights = integers_case(shape, random);
  make_input(weights, "b");
  expect_refused(weights, "weights that are no constant codes");
  Case zeros = integers_case(shape, random);
  make_input(zeros, "b_zero");
  expect_refused(zeros, "zero points that are no constants");
}

TEST_F(Integers, LeaveOthersToTheRuntime) {
  for (const int32_t weights : {u8, i8}) {
    const IntegersShape shape{
        "DynamicQuantizeMatMul", {5}, 37, 29, u8, weights, true, true, false, true};
    expect_refused(integers_case(shape, random),
                   "weights whose zero points leave more than 8 bits");
  }
  Case of = integers_case({"QLinearMatMul", {5}, 8, 16}, random);
  make_input(of, "y_scale");
  expect_refused(of, "numbers that are no constants");
}

}  // namespace
}  // namespace tw::onnxruntime
