// FULLY_CONNECTED of every type against plain loops.
#include "litert/models/layer_models.h"
#include "litert/runner.h"

namespace tw::litert {
namespace {

class FullyConnected : public LitertTest {
 protected:
  /// Runs the layer with us and compares.
  static void check(const LayerKind& kind, const MatrixShape& shape,
                    const RunOptions& options = {}) {
    std::mt19937 random(7);
    const auto k = static_cast<size_t>(shape.input.back());
    const Layer layer = random_layer(kind, shape.n, k, random);
    const std::vector<double> inputs = random_inputs(layer, rows_of(shape) * k, random);
    SCOPED_TRACE(testing::Message() << rows_of(shape) << " x " << shape.n << " x " << k
                                    << ", activation " << kind.activation);
    const Model model = fully_connected_model(layer, shape);
    const Outcome ours = run_model(model, bytes_of(kind.input, inputs), options);
    ASSERT_EQ(ours.status, 0) << ours.messages;
    ASSERT_EQ(ours.replaced, model.nodes.size()) << ours.messages;
    expect_products(layer, inputs, ours.outputs);
  }
};

struct Named {
  const char* name;
  LayerKind kind;
};
void PrintTo(const Named& named, std::ostream* out) {
  *out << named.name;
}

class Types : public FullyConnected, public testing::WithParamInterface<Named> {};

TEST_P(Types, ShapesThatFillNoTiles) {
  for (const MatrixShape& shape :
       {MatrixShape{{1, 1}, 1}, MatrixShape{{1, 33}, 17}, MatrixShape{{5, 7}, 3},
        MatrixShape{{3, 64}, 100}, MatrixShape{{70, 129}, 67}}) {
    check(GetParam().kind, shape);
  }
}

TEST_P(Types, Activations) {
  for (const Activation activation : {activation_relu, activation_relu_n1_to_1, activation_relu6}) {
    LayerKind kind = GetParam().kind;
    kind.activation = activation;
    check(kind, {{9, 40}, 33});
  }
}

TEST_P(Types, WithoutABias) {
  LayerKind kind = GetParam().kind;
  kind.has_bias = false;
  check(kind, {{6, 31}, 20});
}

TEST_P(Types, BatchesAreRows) {
  check(GetParam().kind, {{2, 3, 20}, 18, true});
  check(GetParam().kind, {{2, 3, 20}, 18, false});
}

TEST_P(Types, SeveralThreads) {
  RunOptions several, two;
  several.threads = 4;
  two.options = {{"threads", "2"}};
  check(GetParam().kind, {{40, 96}, 200}, several);
  check(GetParam().kind, {{40, 96}, 200}, two);
}

INSTANTIATE_TEST_SUITE_P(, Types,
                         testing::Values(Named{"f32", {type_f32, type_f32}},
                                         Named{"f16Weights", {type_f32, type_f16}},
                                         Named{"f32byInt8Rows", {type_f32, type_i8}},
                                         Named{"f32byInt8", {type_f32, type_i8, false}},
                                         Named{"f32byInt4Rows", {type_f32, type_i4}},
                                         Named{"int8Rows", {type_i8, type_i8}},
                                         Named{"int8", {type_i8, type_i8, false}},
                                         Named{"int8byInt4", {type_i8, type_i4, false}}),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace tw::litert
