// TILEWRIGHT_CACHE: what the first session packs the second one maps.
#include <algorithm>
#include <filesystem>

#include "onnxruntime/runner.h"
#include "support/count_of.h"
#include "support/files.h"
#include "support/test_folder.h"

namespace tw::onnxruntime {
namespace {

namespace fs = std::filesystem;

class Cache : public OnnxTest {
 protected:
  [[nodiscard]] std::string kept_folder() const { return folder_.path + "/kept"; }
  [[nodiscard]] Outcome start(const std::vector<Case>& cases, const std::string& folder) const {
    RunOptions options;
    options.options = {{"convolutions", "1"}};
    options.environment = {{"TILEWRIGHT_CACHE", folder}};
    return run(cases, options);
  }
  static void expect_same(const Outcome& found, const Outcome& wanted) {
    ASSERT_EQ(found.status, 0) << found.messages;
    ASSERT_EQ(found.outputs.size(), wanted.outputs.size());
    for (size_t i = 0; i < found.outputs.size(); ++i) {
      EXPECT_EQ(found.outputs[i].back().bytes, wanted.outputs[i].back().bytes) << "case " << i;
    }
  }

  TestFolder folder_{"tilewright-onnxruntime-cache"};
  std::mt19937 random_{22};
};

TEST_F(Cache, SecondSessionPacksNothing) {
  const std::vector<Case> cases = {
      nbits_case({{5}, 40, 96, 32}, random_),
      nbits_case({{1}, 33, 128, 64, 8, true, true, 0}, random_),
      floats_case({"FusedMatMul", {5}, 37, 29, false, -2}, random_),
      integers_case({"DynamicQuantizeMatMul", {5}, 37, 29}, random_),
      integers_case({"QLinearMatMul", {5}, 37, 29}, random_),
      integers_case({"MatMulInteger", {5}, 37, 29}, random_),
      images_case({1, 12, 8, 9, 21, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, random_)};
  const Outcome without = start(cases, ""), first = start(cases, kept_folder()),
                second = start(cases, kept_folder());
  EXPECT_EQ(count_of("cache", without.messages), 0U);
  EXPECT_EQ(count_of("packed for the cache", first.messages), cases.size()) << first.messages;
  EXPECT_EQ(count_of("packed for the cache", second.messages), 0U) << second.messages;
  EXPECT_EQ(count_of("mapped from the cache", second.messages), cases.size());
  expect_same(first, without);
  expect_same(second, without);
}

TEST_F(Cache, DamagedFilesAreMadeAgainWithOneLine) {
  const std::vector<Case> cases = {nbits_case({{5}, 40, 96, 32}, random_)};
  const Outcome first = start(cases, kept_folder());
  const fs::path file = *fs::directory_iterator(kept_folder());
  test::write_file(file, test::read_file(file).substr(0, 1000));
  const Outcome second = start(cases, kept_folder());
  EXPECT_EQ(count_of("tilewright: TILEWRIGHT_CACHE: ", second.messages), 1U) << second.messages;
  EXPECT_EQ(count_of("; packed again", second.messages), 1U) << second.messages;
  expect_same(second, first);
}

TEST_F(Cache, WhereNothingCanBeWrittenAllIsAsEver) {
  test::write_file(kept_folder(), "");
  const std::vector<Case> cases = {nbits_case({{5}, 40, 96, 32}, random_)};
  const Outcome without = start(cases, ""), with = start(cases, kept_folder());
  EXPECT_EQ(count_of("tilewright: TILEWRIGHT_CACHE: cannot write", with.messages), 1U)
      << with.messages;
  expect_same(with, without);
}

}  // namespace
}  // namespace tw::onnxruntime
