#include "llama.h"

#include <atomic>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

#include "support/environment.h"
#include "support/run_command.h"
#include "support/test_folder.h"

namespace tw::llama {
namespace {

namespace fs = std::filesystem;

std::string packages() {
  return test::from_environment("TILEWRIGHT_TEST_LLAMA", TILEWRIGHT_LLAMA_PACKAGES);
}

std::string plugin() {
  return test::from_environment("TILEWRIGHT_TEST_PLUGIN", TILEWRIGHT_LLAMA_PLUGIN);
}

std::string quoted(const std::string& word) {
  return "'" + word + "'";
}

}  // namespace

void LlamaTest::SetUp() {
  std::string missing;
  if (!fs::exists(packages() + "/run"))
    missing = packages() + " has no llama.cpp: scripts/setup-llama fetches it";
  if (missing.empty()) {
    for (const std::string& file : {plugin(), built("greedy"), built("precision")})
      ASSERT_TRUE(fs::exists(file)) << file << ": configure and build again";
    return;
  }
  if (std::getenv("TILEWRIGHT_ALL_TOOLS") != nullptr) FAIL() << missing;
  GTEST_SKIP() << missing;
}

std::string LlamaTest::folder() {
  static const TestFolder folder("tilewright-llama");
  return folder.path;
}

std::string LlamaTest::model(const std::string& shape, const std::string& type) {
  const std::string file = folder() + "/" + shape + "-" + type + ".gguf";
  if (fs::exists(file)) return quoted(file);
  const Ran written =
      run_command(quoted(TILEWRIGHT_WRITE_MODEL) + " " + shape + " " + type + " " + quoted(file));
  if (written.status != 0) throw std::runtime_error(written.output);
  return quoted(file);
}

Finished LlamaTest::debian(const std::string& command, const Environment& environment) {
  static std::atomic<int> runs{0};  // some at once
  const std::string messages = folder() + "/messages" + std::to_string(++runs);
  std::string line =
      "unset GGML_BACKEND_PATH TILEWRIGHT_GGML TILEWRIGHT_GGML_THREADS "
      "TILEWRIGHT_LOG TILEWRIGHT_CACHE TILEWRIGHT_BF16 TILEWRIGHT_MEASURE TILEWRIGHT_GROW; ";
  line += "OMP_WAIT_POLICY=passive ";  // else threads that wait take the cores from other tests
  std::string host = packages();
  for (const auto& [name, value] : environment) {
    line += name + "=" + quoted(value) + " ";
    if (name == "TILEWRIGHT_TEST_LLAMA") host = value;
  }
  line += quoted(host + "/run") + " " + command;
  const Ran ran = run_command(line + " </dev/null 2>" + quoted(messages));
  std::ifstream in(messages);
  return {ran.status, ran.output, {std::istreambuf_iterator<char>(in), {}}};
}

Finished LlamaTest::ours(const std::string& command, Environment environment) {
  environment.insert({{"GGML_BACKEND_PATH", plugin()}, {"TILEWRIGHT_LOG", "1"}});
  environment.insert({"TILEWRIGHT_GROW", "1"});
  // Text is the same by the same arithmetic; operations may have another, within their bound.
  environment.insert({"TILEWRIGHT_BF16", "0"});
  return debian(command, environment);
}

std::string LlamaTest::built(const std::string& name) {
  return test::from_environment("TILEWRIGHT_TEST_BUILD", TILEWRIGHT_LLAMA_BUILD) + "/" + name;
}

std::string LlamaTest::greedy(const std::string& files, int threads, int batch, const char* load) {
  return quoted(built("greedy")) + " " + std::to_string(threads) + " " + std::to_string(batch) +
         " " + load + " " + files;
}

size_t weights_on_our_kernels(const std::string& messages) {
  const std::regex line("tilewright: [^\n]*, decode tw_[^\n]*, prompt tw_");
  return static_cast<size_t>(
      std::distance(std::sregex_iterator(messages.begin(), messages.end(), line), {}));
}

bool attention_on_our_kernels(const std::string& messages) {
  return std::regex_search(messages, std::regex("tilewright: computes attention [^\n]*, on tw_"));
}

}  // namespace tw::llama
