// A whole block of a transformer: what is ours between what is the runtime's.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "litert/models/transformer.h"
#include "litert/runner.h"

namespace tw::litert {
namespace {

class Transformer : public LitertTest {
 protected:
  struct Made {
    Outcome ours, theirs;
    std::vector<double> exact;
  };
  static Made run_block(const LayerKind& kind) {
    std::mt19937 random(23);
    // With 12 rows the runtime's own layers by int8 crash on 64-bit Arm.
    const BlockShape shape = {13, 64, 4, 160};
    const Block block = random_block(kind, shape, random);
    const std::vector<double> inputs =
        random_inputs(block.queries, static_cast<size_t>(shape.rows * shape.width), random);
    const Model model = block_model(block);
    RunOptions without_us;
    without_us.with_us = false;
    Made made{run_model(model, bytes_of(type_f32, inputs)),
              run_model(model, bytes_of(type_f32, inputs), without_us),
              exact_outputs(block, inputs)};
    EXPECT_EQ(made.ours.status, 0) << made.ours.messages;
    // Layers, and what makes floats of their weights and biases; no products of activations.
    EXPECT_EQ(made.ours.replaced, kind.weights == type_f16 ? 18U : 6U) << made.ours.messages;
    EXPECT_EQ(made.theirs.status, 0) << made.theirs.messages;
    return made;
  }
  /// The largest difference, as a share of the largest output.
  static double error_of(const Outcome& found, const std::vector<double>& wanted) {
    std::vector<float> values(found.outputs.size() / sizeof(float));
    EXPECT_EQ(values.size(), wanted.size());
    if (values.size() != wanted.size()) return INFINITY;
    std::memcpy(values.data(), found.outputs.data(), found.outputs.size());
    double error = 0, largest = 0;
    for (size_t i = 0; i < wanted.size(); ++i) {
      const double difference = std::abs(values[i] - wanted[i]);
      if (std::isnan(difference)) return INFINITY;
      error = std::max(error, difference);
      largest = std::max(largest, std::abs(wanted[i]));
    }
    return error / largest;
  }
};

TEST_F(Transformer, OfFloats) {
  const Made made = run_block({type_f32, type_f32});
  EXPECT_LT(error_of(made.ours, made.exact), 1e-6);
  EXPECT_LT(error_of(made.theirs, made.exact), 1e-6);
}

TEST_F(Transformer, OfHalves) {
  const Made made = run_block({type_f32, type_f16});
  EXPECT_LT(error_of(made.ours, made.exact), 1e-6);
  EXPECT_LT(error_of(made.theirs, made.exact), 1e-6);
}

TEST_F(Transformer, OfInt8WithOneScale) {
  const Made made = run_block({type_f32, type_i8, false});
  EXPECT_LT(error_of(made.ours, made.exact), 0.01);
  EXPECT_LT(error_of(made.theirs, made.exact), 0.01);
}

/// The runtime's own is wrong of these.
TEST_F(Transformer, OfInt8WithAScaleForEachRow) {
  const Made made = run_block({type_f32, type_i8});
  EXPECT_LT(error_of(made.ours, made.exact), 0.01);
  EXPECT_GT(error_of(made.theirs, made.exact), 0.1) << "it is right: compare with it, too";
}

}  // namespace
}  // namespace tw::litert
