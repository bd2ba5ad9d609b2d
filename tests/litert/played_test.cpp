// What only a host that is played shows.
#include "integrations/litert/plugin.h"
#include "litert/models/layer_models.h"
#include "litert/played_host.h"
#include "litert/runner.h"

namespace tw::litert {
namespace {

/// A DEQUANTIZE in one partition, what multiplies by its weights in another.
TEST(Played, HalvesThatNobodyReadsTakeNoMemory) {
  std::mt19937 random(3);
  const Layer layer = random_layer({type_f32, type_f16}, 20, 20, random);
  Model model = fully_connected_model(layer, {{2, 20}, 20});
  const auto between = static_cast<int32_t>(model.tensors.size());
  model.tensors.push_back(input_tensor(layer, {2, 20}));
  model.nodes.insert(model.nodes.end() - 1, {builtin_relu, 1, {0}, {between}});
  model.nodes.back().inputs[0] = between;

  Delegate* delegate = tflite_plugin_create_delegate(nullptr, nullptr, 0, nullptr);
  ASSERT_NE(delegate, nullptr);
  {
    PlayedHost host(model, 1);
    ASSERT_EQ(host.apply(*delegate), ok);
    EXPECT_EQ(host.replaced(), 3U);
    ASSERT_EQ(host.prepare(), ok);
    EXPECT_EQ(host.bytes(1).size(), 0U) << "the weights";
    EXPECT_EQ(host.bytes(2).size(), 0U) << "the bias";
    EXPECT_EQ(host.bytes(3).size(), 2 * 20 * sizeof(float));
  }
  tflite_plugin_destroy_delegate(delegate);
}

/// Options that are refused are reported at once where the host can be told.
TEST(Played, RefusedOptionsAreReported) {
  static std::string reported;
  const char *key = "thread", *value = "1";
  Delegate* delegate = tflite_plugin_create_delegate(
      &key, &value, 1, [](const char* message) { reported = message; });
  ASSERT_NE(delegate, nullptr);
  tflite_plugin_destroy_delegate(delegate);
  EXPECT_EQ(reported, "no option \"thread\"; \"threads\" is legal");
}

}  // namespace
}  // namespace tw::litert
