// What only a runtime itself can show.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <utility>

#include "onnxruntime/runner.h"
#include "support/test_folder.h"

namespace tw::onnxruntime {
namespace {

class Runtime : public OnnxTest {
 protected:
  std::mt19937 random{15};

  /// Weights of u8, as the runtime's products of u8 by s8 lose sums beyond 16 bits on CPUs without
  /// VNNI.
  std::vector<Case> one_of_each() {
    return {
        nbits_case({{5}, 40, 96, 32}, random),
        nbits_case({{1}, 33, 128, 64, 8, true, true, 0}, random),
        floats_case({"MatMul", {2, 3}, 37, 29}, random),
        floats_case({"Gemm", {5}, 37, 29, true, 0.5F, 1, FloatsShape::constant}, random),
        integers_case({"DynamicQuantizeMatMul", {5}, 37, 29}, random),
        integers_case({"QLinearMatMul", {5}, 37, 29, u8, u8}, random),
        integers_case({"MatMulInteger", {5}, 37, 29, u8, u8}, random),
        images_case({1, 12, 8, 9, 21, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}, u8, u8}, random),
    };
  }
};

TEST_F(Runtime, OfNodeLoadsTheSameFile) {
  RunOptions node;
  node.in_node = true;
  node.options = {{"convolutions", "1"}};
  expect_right(one_of_each(), node);
}

TEST_F(Runtime, AgreesOnWhatNodesMean) {
  RunOptions without_us;
  without_us.with_us = false;
  std::vector<Case> cases = one_of_each();
  cases.erase(cases.begin() + 4);  // it rounds activations as a whole, we row by row
  const Outcome theirs = run(cases, without_us);
  ASSERT_EQ(theirs.status, 0) << theirs.messages;
  EXPECT_EQ(theirs.ours, 0U);
  ASSERT_EQ(theirs.outputs.size(), cases.size());
  for (size_t i = 0; i < cases.size(); ++i) {
    SCOPED_TRACE("case " + std::to_string(i));
    expect_outputs(cases[i], theirs.outputs[i]);
  }
}

/// Two products that are ours with one of the runtime's own between them.
Case with_a_node_between(std::mt19937& random) {
  Case made = floats_case({"MatMul", {5}, 24, 24}, random);
  OnnxNode again = made.model.nodes[0];
  made.model.nodes[0].outputs = {"x"};
  again.inputs = {"z", "b"};
  made.model.nodes.push_back({"Neg", {"x"}, {"z"}, {}, ""});
  made.model.nodes.push_back(again);
  const std::vector<float> b = values_of<float>(made.model.constants[0]);
  const std::vector<double> first = made.wanted;
  constexpr size_t kValues = 24;
  for (size_t i = 0; i < first.size(); ++i) {
    double sum = 0, size = 0;
    for (size_t l = 0; l < kValues; ++l) {
      const double term = first[i / kValues * kValues + l] * b[l * kValues + i % kValues];
      sum -= term;
      size += std::abs(term);
    }
    made.wanted[i] = sum;
    made.bounds[i] = size * 0x1p-16;
  }
  return made;
}

TEST_F(Runtime, CopiesNothingBetweenItsNodesAndOurs) {
  const Case of = with_a_node_between(random);
  const TestFolder folder("tilewright-onnxruntime-profile");
  RunOptions options;
  options.profile = folder.path + "/profile";
  const Outcome outcome = run({of}, options);
  ASSERT_EQ(outcome.status, 0) << outcome.messages;
  EXPECT_EQ(outcome.ours, 2U) << outcome.messages;
  expect_outputs(of, outcome.outputs.at(0));
  std::string profile;
  for (const auto& entry : std::filesystem::directory_iterator(folder.path)) {
    std::ifstream in(entry.path());
    profile.append(std::istreambuf_iterator<char>(in), {});
  }
  EXPECT_NE(profile.find("\"provider\" : \"TilewrightExecutionProvider\""), std::string::npos)
      << profile;
  EXPECT_NE(profile.find("\"provider\" : \"CPUExecutionProvider\""), std::string::npos);
  EXPECT_EQ(profile.find("Memcpy"), std::string::npos);
}

/// Microseconds of ours and of the runtime's, in the order in which they were measured.
std::vector<std::pair<double, double>> measured_in(const std::string& messages) {
  const std::regex line("measured ([0-9.]+) us, the runtime ([0-9.]+) us");
  std::vector<std::pair<double, double>> found;
  for (std::sregex_iterator at(messages.begin(), messages.end(), line), end; at != end; ++at) {
    found.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  }
  return found;
}

/// Each in a session of its own: what is ours afterwards follows from what was measured.
TEST_F(Runtime, LeavesToItWhatItDoesFaster) {
  std::vector<Case> cases = one_of_each();
  cases.erase(cases.begin() + 4);  // it rounds activations as a whole, we row by row
  ImagesShape large{1, 64, 40, 40, 64};
  large.weights_type = u8;
  cases.push_back(images_case(large, random));
  Case of_any_rows = floats_case({"MatMul", {5}, 200, 300}, random);
  of_any_rows.model.inputs[0].shape = {-1, -1};
  cases.push_back(of_any_rows);
  for (const bool in_node : {false, true}) {
    for (size_t i = 0; i < cases.size(); ++i) {
      SCOPED_TRACE("case " + std::to_string(i));
      RunOptions options;
      options.options = {{"measure", "1"}};
      options.in_node = in_node;
      const Outcome outcome = run({cases[i]}, options);
      ASSERT_EQ(outcome.status, 0) << outcome.messages;
      const auto measured = measured_in(outcome.messages);
      const bool is_ours = std::ranges::all_of(
          measured, [](const auto& pair) { return pair.first <= pair.second * 1.03 + 1; });
      const size_t counts = is_ours && i + 1 == cases.size() ? 2 : 1;
      EXPECT_GE(measured.size(), counts) << outcome.messages;
      EXPECT_EQ(outcome.ours, is_ours ? 1U : 0U) << outcome.messages;
      EXPECT_NE(outcome.messages.find(is_ours ? ": ours" : "the runtime is faster"),
                std::string::npos);
      expect_outputs(cases[i], outcome.outputs.at(0));
    }
  }
}

TEST_F(Runtime, LeavesToItImagesOfAnySize) {
  Case images = images_case({1, 12, 8, 9, 21}, random);
  images.model.inputs[0].shape = images.model.outputs[0].shape = {1, -1, -1, -1};
  images.model.inputs[0].shape[1] = 12;
  RunOptions options;
  options.options = {{"measure", "1"}};
  expect_refused(images, "images of a size that is not known cannot be measured", options);
}

TEST_F(Runtime, DoesWhatIsNotOurs) {
  Case of = nbits_case({{3}, 8, 64, 32, 4, true, false, 0}, random);
  make_input(of, "b");
  const Outcome outcome = run({of});
  ASSERT_EQ(outcome.status, 0) << outcome.messages;
  EXPECT_EQ(outcome.ours, 0U);
  expect_outputs(of, outcome.outputs.at(0));
}

TEST_F(Runtime, KeepsNodesWhereOnlyPortableKernelsRun) {
  RunOptions scalar;
  scalar.environment = {{"TILEWRIGHT_ONNXRUNTIME_TEST", "0"}, {"TILEWRIGHT_ISA", "scalar"}};
  const Outcome outcome = run({nbits_case({{5}, 40, 96, 32}, random)}, scalar);
  ASSERT_EQ(outcome.status, 0) << outcome.messages;
  EXPECT_EQ(outcome.ours, 0U);
  EXPECT_NE(outcome.messages.find("no kernels that would be faster"), std::string::npos);
}

/// What is packed takes the constants' place.
TEST_F(Runtime, HoldsWeightsOnce) {
  constexpr int64_t kLarge = 1536;
  constexpr size_t kKib = size_t{kLarge} * kLarge * sizeof(float) / 1024;
  const Outcome small = run({floats_case({"MatMul", {1}, 8, 8}, random)});
  const Outcome large = run({floats_case({"MatMul", {1}, kLarge, kLarge}, random)});
  ASSERT_EQ(large.status, 0) << large.messages;
  EXPECT_EQ(large.ours, 1U);
  EXPECT_GT(large.kib, small.kib + kKib / 2);
  EXPECT_LT(large.kib, small.kib + kKib + kKib / 2) << "the runtime's constants are there as well";
}

}  // namespace
}  // namespace tw::onnxruntime
