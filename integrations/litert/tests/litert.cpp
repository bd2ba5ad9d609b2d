#include "litert.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>

#include "support/run_command.h"
#include "support/test_folder.h"

namespace tw::litert {

namespace {

namespace fs = std::filesystem;

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
  const std::regex replacing("Replacing ([0-9]+) out of [0-9]+ node.*yielding ([0-9]+) partition");
  std::smatch found;
  if (std::regex_search(outcome.messages, found, replacing)) {
    outcome.replaced = std::stoul(found[1]);
    outcome.partitions = std::stoul(found[2]);
  }
  const std::regex figures("([0-9.e+]+) us, ([0-9]+) KiB");
  if (std::regex_search(outcome.messages, found, figures)) {
    outcome.microseconds = std::stod(found[1]);
    outcome.kib = std::stoul(found[2]);
  }
}

}  // namespace

void LitertTest::SetUp() {
  std::string missing;
  const std::string packages = TILEWRIGHT_LITERT_PACKAGES;
  if (!fs::exists(packages + "/run")) {
    missing = packages + " has no TensorFlow Lite: scripts/setup-litert fetches it";
  } else {
    for (const std::string file : {TILEWRIGHT_LITERT_PLUGIN, TILEWRIGHT_RUN_MODEL}) {
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
  std::string command = "unset TILEWRIGHT_LOG TILEWRIGHT_ISA; ";
  command += "TILEWRIGHT_LITERT_TEST=1 " + options.environment + " ";
  command += quoted(std::string(TILEWRIGHT_LITERT_PACKAGES) + "/run") + " ";
  command += quoted(TILEWRIGHT_RUN_MODEL) + " " + quoted(path) + " " + quoted(out);
  command += " --inputs " + quoted(in) + " " + options.more;
  const std::string plugin = options.plugin != nullptr ? options.plugin : TILEWRIGHT_LITERT_PLUGIN;
  if (options.with_us) command += " --delegate " + quoted(plugin);
  const Ran ran = run_command(command);
  Outcome outcome;
  outcome.status = ran.status;
  outcome.messages = ran.output;
  outcome.outputs = read_file(out);
  read_messages(outcome);
  return outcome;
}

}  // namespace tw::litert
