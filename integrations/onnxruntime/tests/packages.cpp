// The tests' runner: Debian's ONNX Runtime, or that for node.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <regex>
#include <stdexcept>

#include "onnxruntime/runner.h"
#include "support/count_of.h"
#include "support/environment.h"
#include "support/run_command.h"
#include "support/test_folder.h"

namespace tw::onnxruntime {

namespace {

namespace fs = std::filesystem;

/// Runtimes, provider and runner of another architecture, where QEMU plays it.
std::string debian() {
  return test::from_environment("TILEWRIGHT_TEST_DEBIAN", TILEWRIGHT_ONNXRUNTIME_DEBIAN);
}

std::string node_library() {
  return test::from_environment("TILEWRIGHT_TEST_NODE", TILEWRIGHT_ONNXRUNTIME_NODE);
}

std::string plugin() {
  return test::from_environment("TILEWRIGHT_TEST_PLUGIN", TILEWRIGHT_ONNXRUNTIME_PLUGIN);
}

std::string runner() {
  return test::from_environment("TILEWRIGHT_TEST_RUN_MODEL", TILEWRIGHT_RUN_ONNX_MODEL);
}

std::string quoted(const std::string& word) {
  return "'" + word + "'";
}

/// "": there is none.
std::string library_below(const std::string& folder, const std::string& name) {
  if (!fs::exists(folder)) return "";
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (entry.path().filename() == name) return entry.path().string();
  }
  return "";
}

std::string words_of(const RunOptions& options) {
  std::string words = " --threads " + std::to_string(options.threads) + " --callers " +
                      std::to_string(options.callers);
  for (const auto& [key, value] : options.options) {
    words += " --option " + quoted(key + "=" + value);
  }
  if (!options.profile.empty()) words += " --profile " + quoted(options.profile);
  if (options.with_us) words += " --provider " + quoted(plugin());
  return words;
}

}  // namespace

void OnnxTest::SetUp() {
  if (fs::exists(debian() + "/run") && fs::exists(node_library())) {
    for (const std::string& file : {plugin(), runner()}) {
      ASSERT_TRUE(fs::exists(file)) << file << ": configure and build again";
    }
    return;
  }
  const std::string missing =
      debian() + " or node has no ONNX Runtime: scripts/setup-onnxruntime fetches it";
  if (std::getenv("TILEWRIGHT_ALL_TOOLS") != nullptr) FAIL() << missing;
  GTEST_SKIP() << missing;
}

Outcome OnnxTest::run(const std::vector<Case>& cases, const RunOptions& options) {
  static const TestFolder folder("tilewright-onnxruntime");
  static const std::string debian_library =
      library_below(debian() + "/usr/lib", "libonnxruntime.so");
  std::string command =
      "unset TILEWRIGHT_CACHE TILEWRIGHT_ISA; TILEWRIGHT_ONNXRUNTIME_TEST=1 TILEWRIGHT_LOG=1 ";
  for (const auto& [name, value] : options.environment) command += name + "=" + quoted(value) + " ";
  command += quoted(debian() + "/run") + " " + quoted(runner()) + " " +
             quoted(options.in_node ? node_library() : debian_library);
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string path = folder.path + "/" + std::to_string(i) + ".onnx";
    write_model(path, cases[i].model);
    write_tensors(path + ".inputs", cases[i].inputs);
    fs::remove(path + ".outputs");
    command += " " + quoted(path);
  }
  const Ran ran = run_command(command + words_of(options));
  Outcome outcome;
  outcome.status = ran.status;
  outcome.messages = ran.output;
  std::smatch grown;
  if (std::regex_search(ran.output, grown, std::regex("grown by ([0-9]+) KiB"))) {
    outcome.kib = std::stoul(grown[1]);
  }
  outcome.ours = count_of(": ours\n", ran.output);
  for (size_t i = 0; i < cases.size(); ++i) {
    const std::string path = folder.path + "/" + std::to_string(i) + ".onnx.outputs";
    if (fs::exists(path)) outcome.outputs.push_back(read_tensors(path));
  }
  return outcome;
}

}  // namespace tw::onnxruntime
