// TILEWRIGHT_CACHE: what the first start packs the second one maps, whatever the layer.
#include <algorithm>
#include <filesystem>

#include "litert/models/layer_models.h"
#include "litert/runner.h"
#include "support/count_of.h"
#include "support/files.h"
#include "support/test_folder.h"

namespace tw::litert {
namespace {

namespace fs = std::filesystem;

struct Made {
  Model model;
  std::vector<uint8_t> inputs;
  size_t packed = 1;  ///< times
};

class Cache : public LitertTest {
 protected:
  [[nodiscard]] std::string kept_folder() const { return folder_.path + "/kept"; }
  [[nodiscard]] Outcome start(const Made& made, bool with_cache = true) const {
    RunOptions options;
    options.environment = {{"TILEWRIGHT_LOG", "1"}};
    if (with_cache) options.environment["TILEWRIGHT_CACHE"] = kept_folder();
    return run_model(made.model, made.inputs, options);
  }
  Made matrix(const LayerKind& kind) {
    const Layer layer = random_layer(kind, 50, 33, random_);
    return {fully_connected_model(layer, {{3, 33}, 50}),
            bytes_of(kind.input, random_inputs(layer, size_t{3} * 33, random_))};
  }
  Made images(const LayerKind& kind, Model (*model)(const Layer&, const ImageShape&),
              size_t taps_of_all) {
    const ImageShape shape{{1, 8, 9, 6}, 3, 3, 6};
    const Layer layer = random_layer(kind, 6, taps_of_all, random_);
    return {model(layer, shape),
            bytes_of(kind.input, random_inputs(layer, size_t{8} * 9 * 6, random_))};
  }
  std::vector<Made> one_of_each() {
    const auto transposed = [](const Layer& layer, const ImageShape& shape) {
      ImageShape larger = shape;
      larger.stride = 2;
      return transposed_model(layer, larger);
    };
    std::vector<Made> all = {matrix({type_f32, type_f32}),
                             matrix({type_f32, type_f16}),
                             matrix({type_f32, type_i8}),
                             matrix({type_f32, type_i4}),
                             matrix({type_i8, type_i8, false}),
                             images({type_i8, type_i8}, convolution_model, 54),
                             images({type_f32, type_f16}, depthwise_model, 9),
                             images({type_i8, type_i8}, depthwise_model, 9),
                             images({type_f32, type_f32}, transposed, 54)};
    all.back().packed = 4;  // parts of the weights
    return all;
  }

  TestFolder folder_{"tilewright-litert-cache"};
  std::mt19937 random_{21};
};

TEST_F(Cache, SecondStartPacksNothing) {
  for (const Made& made : one_of_each()) {
    const Outcome without = start(made, false), first = start(made), second = start(made);
    ASSERT_EQ(second.status, 0) << second.messages;
    EXPECT_EQ(second.replaced, made.model.nodes.size());
    EXPECT_EQ(count_of("packed for the cache", first.messages), made.packed) << first.messages;
    EXPECT_EQ(count_of("packed for the cache", second.messages), 0U) << second.messages;
    EXPECT_EQ(count_of("mapped from the cache", second.messages), made.packed) << second.messages;
    EXPECT_EQ(first.outputs, without.outputs);
    EXPECT_EQ(second.outputs, without.outputs);
  }
}

TEST_F(Cache, DamagedFilesAreMadeAgainWithOneLine) {
  const Made made = matrix({type_f32, type_f32});
  const Outcome first = start(made);
  const fs::path file = *fs::directory_iterator(kept_folder());
  const std::string good = test::read_file(file);
  std::string bad = good;
  bad.at(bad.size() - 4096) ^= 1;
  test::write_file(file, bad);
  const Outcome second = start(made);
  EXPECT_EQ(count_of("tilewright: TILEWRIGHT_CACHE: ", second.messages), 1U) << second.messages;
  EXPECT_EQ(count_of("is damaged; packed again", second.messages), 1U) << second.messages;
  EXPECT_EQ(second.outputs, first.outputs);
  EXPECT_TRUE(test::read_file(file) == good);
}

TEST_F(Cache, WhereNothingCanBeWrittenAllIsAsEver) {
  test::write_file(kept_folder(), "");
  const Made made = matrix({type_f32, type_i8});
  const Outcome without = start(made, false), with = start(made);
  EXPECT_EQ(count_of("tilewright: TILEWRIGHT_CACHE: cannot write", with.messages), 1U)
      << with.messages;
  EXPECT_EQ(with.outputs, without.outputs);
}

}  // namespace
}  // namespace tw::litert
