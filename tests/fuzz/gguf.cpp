// Fuzz target: an input is a GGUF file. What is read becomes a workload, whose text must be read
// again; what is refused must be refused in one line that says where.
#include <cstdlib>
#include <regex>
#include <sstream>
#include <stdexcept>

#include "fuzz/files.h"
#include "spec/gguf_workload.h"
#include "spec/workload_reader.h"
#include "spec/workload_writer.h"

namespace tw::fuzz {
namespace {

void check(const GgufError& error) {
  static const std::regex form(R"(.+: byte [0-9]+: [ -~]+)");
  constexpr size_t longest = 8192;
  const std::string_view what = error.what();
  if (what.size() > longest || !std::regex_match(what.begin(), what.end(), form)) std::abort();
}

void write_and_read(const ModelWorkload& made) {
  if (made.workload.matmuls.empty()) return;
  const std::filesystem::path file = scratch() / "workload.yaml";
  write(file, workload_text(made.workload, made.remarks));
  if (read_workload(file).matmuls.size() != made.workload.matmuls.size()) std::abort();
}

}  // namespace
}  // namespace tw::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::istringstream stream({reinterpret_cast<const char*>(data), size});
  try {
    tw::fuzz::write_and_read(tw::workload_of(tw::read_gguf(stream, "model.gguf")));
  } catch (const tw::GgufError& error) {
    tw::fuzz::check(error);
  }
  return 0;
}
