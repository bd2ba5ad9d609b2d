// MatMulNBits.
#include "onnxruntime/runner.h"

namespace tw::onnxruntime {
namespace {

class Nbits : public OnnxTest {
 protected:
  std::mt19937 random{12};

  /// Rows and columns that fill no tiles, one row and many, 1 to 3 blocks.
  std::vector<Case> cases(int64_t bits, int64_t accuracy,
                          const std::vector<int64_t>& blocks = {16, 32, 64, 128, 256}) {
    std::vector<Case> made;
    for (const int64_t block : blocks) {
      for (const bool has_zeros : {false, true}) {
        const auto some = static_cast<int64_t>(random() % 3 + 1);
        const auto m = static_cast<int64_t>(random() % 9 + 1);
        const auto n = static_cast<int64_t>(random() % 70 + 1);
        made.push_back(
            nbits_case({{1}, 37, block * some, block, bits, has_zeros, false, accuracy}, random));
        made.push_back(
            nbits_case({{m}, n, block * some, block, bits, has_zeros, true, accuracy}, random));
      }
    }
    return made;
  }
};

TEST_F(Nbits, OfTwoBitsByCodes) {
  expect_right(cases(2, 4, {32, 64, 128}));
}

TEST_F(Nbits, OfFourBitsByCodes) {
  expect_right(cases(4, 4));
}

TEST_F(Nbits, OfEightBitsByCodes) {
  expect_right(cases(8, 4));
}

TEST_F(Nbits, OfFourBitsByFloats) {
  expect_right(cases(4, 0));
}

TEST_F(Nbits, OfEightBitsByFloats) {
  expect_right(cases(8, 1));
}

TEST_F(Nbits, WhoseLastBlockIsNotFull) {
  std::vector<Case> made;
  for (const int64_t accuracy : {0, 4}) {
    for (const int64_t bits : {4, 8}) {
      for (const bool has_zeros : {false, true}) {
        for (const int64_t block : {16, 32}) {
          // The last of an odd number of blocks, whose zero point shares its byte with none.
          const int64_t k = 4 * block + 3;
          made.push_back(nbits_case({{5}, 19, k, block, bits, has_zeros, false, accuracy}, random));
        }
      }
    }
  }
  expect_right(made);
}

TEST_F(Nbits, OfBatches) {
  expect_right(
      {nbits_case({{2, 3}, 40, 64, 32}, random), nbits_case({{1, 1, 7}, 9, 64, 64}, random)});
}

TEST_F(Nbits, OnTwoThreads) {
  RunOptions two;
  two.threads = 2;
  expect_right({nbits_case({{40}, 300, 128, 32}, random), nbits_case({{1}, 600, 256, 128}, random)},
               two);
}

TEST_F(Nbits, WithABiasThatIsAnInput) {
  Case of = nbits_case({{3}, 21, 64, 32, 4, true, true}, random);
  make_input(of, "bias");
  expect_right({of});
}

TEST_F(Nbits, LeaveOthersToTheRuntime) {
  const NbitsShape shape{{3}, 8, 64, 32};
  expect_refused(nbits_case({{3}, 8, 512, 512}, random),
                 "blocks of other than 16, 32, 64, 128 or 256");
  expect_refused(nbits_case({{3}, 8, 64, 32, 2, true, false, 0}, random),
                 "codes of 2 bits without accuracy level 4");
  expect_refused(nbits_case({{3}, 8, 64, 16, 2}, random), "codes of 2 bits in blocks of 16 or 256");
  for (const auto& [constant, because] :
       std::map<std::string, std::string>{{"b", "weights that are no constant bytes"},
                                          {"scales", "scales that are no constant float32"},
                                          {"zeros", "zero points that are no constant codes"}}) {
    Case of = nbits_case(shape, random);
    make_input(of, constant);
    expect_refused(of, because);
  }
}

}  // namespace
}  // namespace tw::onnxruntime
