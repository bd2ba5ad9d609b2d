// BATCH_MATMUL by one constant matrix against plain loops.
#include "litert/models/layer_models.h"
#include "litert/runner.h"

namespace tw::litert {
namespace {

class BatchMatMul : public LitertTest, public testing::WithParamInterface<BatchShape> {
 protected:
  static void check(Type input, Type weights, bool by_columns, bool transposes) {
    BatchShape shape = GetParam();
    shape.transposes = transposes;
    std::mt19937 random(5);
    const auto k = static_cast<size_t>(shape.left.back());
    const Layer layer = random_layer({input, weights, by_columns, false}, shape.n, k, random);
    size_t values = 1;
    for (const int32_t extent : shape.left) values *= static_cast<size_t>(extent);
    const std::vector<double> inputs = random_inputs(layer, values, random);
    const Model model = batch_matmul_model(layer, shape);
    const Outcome ours = run_model(model, bytes_of(input, inputs));
    ASSERT_EQ(ours.status, 0) << ours.messages;
    ASSERT_EQ(ours.replaced, model.nodes.size()) << ours.messages;
    expect_products(layer, inputs, ours.outputs);
  }
};

TEST_P(BatchMatMul, OfFloats) {
  for (const bool transposes : {false, true}) check(type_f32, type_f32, false, transposes);
}
TEST_P(BatchMatMul, ByHalves) {
  for (const bool transposes : {false, true}) check(type_f32, type_f16, false, transposes);
}
TEST_P(BatchMatMul, OfFloatsByCodes) {
  for (const bool transposes : {false, true}) {
    check(type_f32, type_i8, false, transposes);
    check(type_f32, type_i8, true, transposes);
  }
}
TEST_P(BatchMatMul, OfCodes) {
  for (const bool transposes : {false, true}) check(type_i8, type_i8, false, transposes);
}

INSTANTIATE_TEST_SUITE_P(, BatchMatMul,
                         testing::Values(BatchShape{{1, 9}, 5, 0}, BatchShape{{2, 3, 33}, 20, 0},
                                         BatchShape{{2, 2, 5, 16}, 67, 2},
                                         BatchShape{{7, 40}, 18, 1}),
                         [](const auto& info) { return std::to_string(info.index); });

}  // namespace
}  // namespace tw::litert
