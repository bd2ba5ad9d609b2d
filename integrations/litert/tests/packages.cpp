// The tests' runner: Debian's TensorFlow Lite.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <stdexcept>

#include "litert/runner.h"
#include "support/environment.h"
#include "support/run_command.h"
#include "support/test_folder.h"

namespace tw::litert {

namespace {

namespace fs = std::filesystem;

/// Packages, delegate and runner of another architecture, where QEMU plays it.
std::string packages() {
  return test::from_environment("TILEWRIGHT_TEST_LITERT", TILEWRIGHT_LITERT_PACKAGES);
}

std::string plugin() {
  return test::from_environment("TILEWRIGHT_TEST_PLUGIN", TILEWRIGHT_LITERT_PLUGIN);
}

std::string runner() {
  return test::from_environment("TILEWRIGHT_TEST_RUN_MODEL", TILEWRIGHT_RUN_MODEL);
}

std::string quoted(const std::string& word) {
  return "'" + word + "'";
}

void write_file(const std::string& path, const std::vector<uint8_t>& bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out) throw std::runtime_error("cannot write " + path);
}

std::vector<uint8_t> read_file(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void read_messages(Outcome& outcome) {
  std::smatch found;
  const std::regex replacing("Replacing ([0-9]+) out of [0-9]+ node");
  if (std::regex_search(outcome.messages, found, replacing))
    outcome.replaced = std::stoul(found[1]);
  const std::regex grown(" us, ([0-9]+) KiB");
  if (std::regex_search(outcome.messages, found, grown)) outcome.kib = std::stoul(found[1]);
}

std::string words_of(const RunOptions& options) {
  std::string words = " --threads " + std::to_string(options.threads) + " --clones " +
                      std::to_string(options.clones);
  for (const auto& [key, value] : options.options)
    words += " --option " + quoted(key + "=" + value);
  std::string shape;
  for (const int32_t extent : options.shape)
    shape += (shape.empty() ? "" : ",") + std::to_string(extent);
  if (!shape.empty()) words += " --resize " + shape;
  if (options.with_us) words += std::string(" --delegate ") + quoted(plugin());
  return words;
}

}  // namespace

void LitertTest::SetUp() {
  std::string missing;
  if (!fs::exists(packages() + "/run")) {
    missing = packages() + " has no TensorFlow Lite: scripts/setup-litert fetches it";
  } else {
    for (const std::string& file : {plugin(), runner()}) {
      ASSERT_TRUE(fs::exists(file)) << file << ": configure and build again";
    }
    return;
  }
  if (std::getenv("TILEWRIGHT_ALL_TOOLS") != nullptr) FAIL() << missing;
  GTEST_SKIP() << missing;
}

Outcome LitertTest::run_model(const Model& model, const std::vector<uint8_t>& inputs,
                              const RunOptions& options) {
  static const TestFolder folder("tilewright-litert");
  const std::string path = folder.path + "/model.tflite", in = folder.path + "/inputs",
                    out = folder.path + "/outputs";
  write_file(path, file_of(model));
  write_file(in, inputs);
  fs::remove(out);
  std::string command =
      "unset TILEWRIGHT_LOG TILEWRIGHT_CACHE TILEWRIGHT_ISA; TILEWRIGHT_LITERT_TEST=1 ";
  for (const auto& [name, value] : options.environment) command += name + "=" + value + " ";
  command += quoted(packages() + "/run") + " ";
  command += quoted(runner()) + " " + quoted(path) + " " + quoted(out);
  if (!inputs.empty()) command += " --inputs " + quoted(in);
  const Ran ran = run_command(command + words_of(options));
  Outcome outcome;
  outcome.status = ran.status;
  outcome.messages = ran.output;
  outcome.outputs = read_file(out);
  read_messages(outcome);
  return outcome;
}

}  // namespace tw::litert
