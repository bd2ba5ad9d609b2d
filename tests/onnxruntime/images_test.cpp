// QLinearConv.
#include "onnxruntime/runner.h"

namespace tw::onnxruntime {
namespace {

class Images : public OnnxTest {
 protected:
  Images() { asked.options = {{"convolutions", "1"}}; }
  std::mt19937 random{19};
  RunOptions asked;
};

TEST_F(Images, OfPoints) {
  expect_right({images_case({1, 37, 5, 7, 29}, random),
                images_case({2, 8, 9, 3, 40, {1, 1}, {1, 1}, {1, 1}, {0, 0, 0, 0}, i8}, random),
                images_case({1, 6, 5, 7, 9, {1, 1}, {2, 2}}, random)},
               asked);
}

TEST_F(Images, OfWindows) {
  ImagesShape uneven{2, 5, 11, 9, 21, {3, 2}, {2, 1}, {1, 2}, {1, 0, 2, 1}, u8, u8, false, false};
  expect_right({images_case({1, 12, 8, 9, 21, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, random),
                images_case(uneven, random),
                images_case({1, 3, 40, 33, 16, {5, 5}, {2, 2}, {1, 1}, {2, 2, 2, 2}, i8}, random)},
               asked);
}

TEST_F(Images, OnTwoThreads) {
  RunOptions two = asked;
  two.threads = 2;
  expect_right({images_case({1, 40, 30, 20, 70, {3, 3}, {1, 1}, {1, 1}, {1, 1, 1, 1}}, random)},
               two);
}

TEST_F(Images, LeaveOthersToTheRuntime) {
  Case grouped = images_case({1, 4, 5, 5, 8, {3, 3}}, random);
  grouped.model.nodes[0].attributes.push_back({"group", int64_t{2}});
  grouped.model.constants[2].shape = {8, 2, 3, 3};
  grouped.model.constants[2].bytes.resize(144);
  expect_refused(grouped, "groups", asked);
  Case large = images_case({1, 4, 5, 5, 8, {3, 3}}, random);
  large.model.constants.back().bytes = bytes_of(std::vector<int32_t>(8, INT32_MAX));
  expect_refused(large, "sums that may leave 32 bits", asked);
  expect_refused(images_case({1, 37, 5, 7, 29}, random), "convolutions are not asked for");
}

}  // namespace
}  // namespace tw::onnxruntime
