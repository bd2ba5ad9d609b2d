// What llama.cpp writes is the same with our kernels, and they do run.
#include <algorithm>
#include <cstdlib>
#include <regex>
#include <vector>

#include "llama.h"
#include "support/environment.h"

namespace tw::llama {
namespace {

struct Case {
  const char* shape;
  const char* type;
  size_t weights;  ///< that our kernels must multiply by
};

void PrintTo(const Case& c, std::ostream* out) {
  *out << c.shape << " " << c.type;
}

class Text : public LlamaTest, public testing::WithParamInterface<Case> {
 protected:
  static std::string file() { return model(GetParam().shape, GetParam().type); }
};

TEST_P(Text, IsTheSameWithEveryNumberOfThreads) {
  // More than there are cores, or tiles of some weights. How threads share work does not depend on
  // the processor, and QEMU is slow.
  std::vector<int> counts = {1, 2, 16};
  if (std::getenv("QEMU_CPU") != nullptr) counts = {2};
  if (std::getenv("QEMU_CPU") != nullptr && test::is_long()) counts = {1, 2, 4};
  for (const int threads : counts) {
    SCOPED_TRACE(threads);
    const std::string command = greedy(file(), threads);
    const Finished theirs = debian(command);
    const Finished with_us = ours(command);
    ASSERT_EQ(theirs.status, 0) << theirs.messages;
    ASSERT_EQ(with_us.status, 0) << with_us.messages;
    EXPECT_GT(theirs.output.size(), 60U) << theirs.messages;
    EXPECT_EQ(with_us.output, theirs.output);
    const size_t with_embeddings = GetParam().weights + 1;
    EXPECT_EQ(weights_on_our_kernels(with_us.messages), with_embeddings) << with_us.messages;
    EXPECT_EQ(weights_on_our_kernels(theirs.messages), 0U);
    EXPECT_TRUE(attention_on_our_kernels(with_us.messages)) << with_us.messages;
  }
}

// Embeddings that are the output's weights too lie packed, and nowhere else.
TEST_F(LlamaTest, TiedEmbeddingsAreHeldOnce) {
  for (const std::string& file : {model("tiny-tied", "q8_0"), model("tiny-256-tied", "q4_k_m")}) {
    const std::string command = greedy(file, 2);
    const Finished theirs = debian(command), with_us = ours(command);
    EXPECT_GT(theirs.output.size(), 60U) << theirs.messages;
    EXPECT_EQ(with_us.output, theirs.output);
    EXPECT_EQ(weights_on_our_kernels(with_us.messages), 15U) << with_us.messages;
    std::smatch mapped;
    const std::regex largest("CPU_Mapped model buffer size = +([0-9.]+) MiB");
    for (std::string left = with_us.messages; std::regex_search(left, mapped, largest);
         left = mapped.suffix()) {
      EXPECT_LT(std::stod(mapped[1]), 0.1) << with_us.messages;
    }
  }
}

// Two layers of q, k, v, the attention's output, gate, up and down; and the model's output. What
// chooses experts has too few columns for us.
INSTANTIATE_TEST_SUITE_P(
    Types, Text,
    testing::Values(
        Case{"tiny", "q4_0", 15}, Case{"tiny", "q8_0", 15}, Case{"tiny", "q4_1", 15},
        Case{"tiny-256", "q4_k", 15}, Case{"tiny", "q5_0", 15}, Case{"tiny", "q5_1", 15},
        Case{"tiny-256", "q4_k_m", 15}, Case{"tiny-256", "q5_k_m", 15}, Case{"tiny", "bf16", 15},
        Case{"tiny", "f16", 15}, Case{"tiny", "f32", 15}, Case{"tiny", "iq4_nl", 15},
        Case{"tiny", "mxfp4", 15}, Case{"tiny-256", "iq4_xs", 15}, Case{"tiny-256", "nvfp4", 15},
        Case{"tiny-256", "q2_k", 15}, Case{"tiny-256", "q1_0", 15}, Case{"tiny-256", "iq3_s", 15},
        Case{"tiny-256", "iq3_xxs", 15}, Case{"tiny-256", "iq2_s", 15},
        Case{"tiny-256", "iq2_xs", 15}, Case{"tiny-256", "iq2_xxs", 15},
        Case{"tiny-256", "iq1_m", 15}, Case{"tiny-256", "iq1_s", 15}, Case{"tiny-256", "q3_k", 15},
        Case{"tiny-moe", "mxfp4", 15}, Case{"tiny-moe", "q4_0", 15}, Case{"tiny-moe", "q8_0", 15},
        Case{"tiny-moe", "f16", 15}, Case{"tiny-moe", "f32", 15}),
    [](const auto& info) {
      std::string name = std::string(info.param.shape) + "_" + info.param.type;
      name.erase(std::remove(name.begin(), name.end(), '-'), name.end());
      return name;
    });

}  // namespace
}  // namespace tw::llama
