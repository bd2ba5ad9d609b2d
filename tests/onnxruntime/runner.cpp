// What the tests' runners have in common.
#include "onnxruntime/runner.h"

#include <cmath>

namespace tw::onnxruntime {

namespace {

std::vector<double> numbers_of(const Tensor& tensor) {
  std::vector<double> numbers;
  if (tensor.type == f32) {
    for (const float value : values_of<float>(tensor)) numbers.push_back(value);
  } else if (tensor.type == i32) {
    for (const int32_t value : values_of<int32_t>(tensor)) numbers.push_back(value);
  } else if (tensor.type == u8) {
    for (const uint8_t value : tensor.bytes) numbers.push_back(value);
  } else {
    for (const int8_t value : values_of<int8_t>(tensor)) numbers.push_back(value);
  }
  return numbers;
}

}  // namespace

void expect_outputs(const Case& of, const std::vector<Tensor>& outputs) {
  ASSERT_FALSE(outputs.empty());
  EXPECT_EQ(outputs.back().shape, of.model.outputs.back().shape);
  const std::vector<double> found = numbers_of(outputs.back());
  ASSERT_EQ(found.size(), of.wanted.size());
  for (size_t i = 0; i < found.size(); ++i) {
    ASSERT_NEAR(found[i], of.wanted[i], of.bounds[i]) << "output " << i;
  }
}

void OnnxTest::expect_right(const std::vector<Case>& cases, const RunOptions& options) {
  const Outcome outcome = run(cases, options);
  ASSERT_EQ(outcome.status, 0) << outcome.messages;
  EXPECT_EQ(outcome.ours, cases.size()) << outcome.messages;
  ASSERT_EQ(outcome.outputs.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_outputs(cases[i], outcome.outputs[i]);
  }
}

void OnnxTest::expect_refused(const Case& of, const std::string& because,
                              const RunOptions& options) {
  const Outcome outcome = run({of}, options);
  EXPECT_EQ(outcome.ours, 0U) << because;
  EXPECT_NE(outcome.messages.find(": " + because + "; left to the runtime"), std::string::npos)
      << outcome.messages;
}

}  // namespace tw::onnxruntime
