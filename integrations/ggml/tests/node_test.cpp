// node-llama-cpp, whose ggml has threads of its own (scripts/setup-node-llama).
#include <cstdlib>
#include <filesystem>
#include <functional>

#include "llama.h"

namespace tw::llama {
namespace {

class NodeLlama : public LlamaTest {
 protected:
  void SetUp() override {
    const char* asked = std::getenv("TILEWRIGHT_NODE_LLAMA");
    host_ = asked != nullptr ? asked : TILEWRIGHT_NODE_LLAMA_FOLDER;
    if (std::filesystem::exists(host_ + "/run")) return;
    const std::string missing =
        host_ + " has no node-llama-cpp: scripts/setup-node-llama fetches it";
    if (std::getenv("TILEWRIGHT_ALL_TOOLS") != nullptr) FAIL() << missing;
    GTEST_SKIP() << missing;
  }

  /// The same text as ggml's own with one thread: with more threads than cores it would not end
  /// soon. All operations of models without experts are ours.
  void expect_same(const std::string& file, const std::function<std::string(int)>& command,
                   const std::string& said) {
    const Finished theirs = debian(command(1), host());
    EXPECT_EQ(theirs.status, 0) << theirs.messages;
    EXPECT_GT(theirs.output.size(), 50U) << theirs.messages;
    for (const int threads : {1, 2, 16}) {
      SCOPED_TRACE(file + " " + std::to_string(threads));
      const Finished with_us = ours(command(threads), host());
      EXPECT_EQ(with_us.status, 0) << with_us.messages;
      EXPECT_EQ(with_us.output, theirs.output);
      EXPECT_EQ(weights_on_our_kernels(with_us.messages), 16U) << with_us.messages;
      EXPECT_TRUE(attention_on_our_kernels(with_us.messages)) << with_us.messages;
      EXPECT_NE(with_us.messages.find("tilewright: threads: our own"), std::string::npos);
      EXPECT_NE(with_us.messages.find(said), std::string::npos) << with_us.messages;
    }
  }

  [[nodiscard]] Environment host() const { return {{"TILEWRIGHT_TEST_LLAMA", host_}}; }

  std::string host_;
};

TEST_F(NodeLlama, TextIsTheSameAndAllIsOurs) {
  for (const std::string& file : {model("tiny", "q4_0"), model("tiny-256", "q4_k_m")}) {
    expect_same(
        file, [&](int threads) { return greedy(file, threads); }, "splits = 1,");
  }
}

TEST_F(NodeLlama, NodesOwnProgramsLoadUs) {
  const std::string file = model("tiny-256", "q4_k_m");
  const auto command = [&](int threads) {
    return "node '" TILEWRIGHT_CONTINUE "' '" + host_ + "' " + std::to_string(threads) + " " + file;
  };
  expect_same(file, command, "");
}

}  // namespace
}  // namespace tw::llama
