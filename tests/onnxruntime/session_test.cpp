// Options, threads and callers of a session.
#include <array>

#include "onnxruntime/runner.h"

namespace tw::onnxruntime {
namespace {

class SessionTest : public OnnxTest {
 protected:
  std::mt19937 random{18};
};

TEST_F(SessionTest, GivesThreadsOfItsOwnOrOurs) {
  const std::vector<Case> cases = {nbits_case({{60}, 300, 128, 32}, random)};
  RunOptions two;
  two.threads = 2;
  expect_right(cases, two);
  RunOptions ours;
  ours.options = {{"threads", "2"}};
  expect_right(cases, ours);
}

TEST_F(SessionTest, CallsNodesOnSeveralThreads) {
  RunOptions several;
  several.callers = 4;
  several.threads = 2;
  expect_right(
      {nbits_case({{9}, 100, 80, 32}, random), floats_case({"MatMul", {30}, 90, 64}, random)},
      several);
}

TEST_F(SessionTest, SaysWhichInputsDoNotFit) {
  Case of = floats_case({"MatMul", {5}, 8, 16}, random);
  of.model.inputs[0].shape = of.model.outputs[0].shape = {-1, -1};
  of.inputs[0].shape = {10, 8};
  const Outcome outcome = run({of});
  EXPECT_EQ(outcome.status, 1);
  EXPECT_EQ(outcome.ours, 1U);
  EXPECT_NE(outcome.messages.find("an input whose last dimension is not that of the weights"),
            std::string::npos)
      << outcome.messages;
}

TEST_F(SessionTest, RefusesOptionsThatMeanNothing) {
  for (const auto& [key, value, because] : std::vector<std::array<std::string, 3>>{
           {"thread", "2",
            "no option \"thread\"; \"threads\", \"convolutions\" and \"measure\" are legal"},
           {"threads", "0", "option \"threads\" is \"0\"; 1 to 1024 is legal"},
           {"convolutions", "yes", "option \"convolutions\" is \"yes\"; 0 and 1 are legal"},
           {"measure", "2", "option \"measure\" is \"2\"; 0 and 1 are legal"},
           {"threads", "2x", "option \"threads\" is \"2x\"; 1 to 1024 is legal"}}) {
    RunOptions options;
    options.options = {{key, value}};
    const Outcome outcome = run({floats_case({"MatMul", {5}, 24, 24}, random)}, options);
    EXPECT_EQ(outcome.status, 1);
    EXPECT_NE(outcome.messages.find(because), std::string::npos) << outcome.messages;
  }
}

}  // namespace
}  // namespace tw::onnxruntime
