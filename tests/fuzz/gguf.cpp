// Fuzz target: an input is a GGUF file. What is read becomes a workload, whose text must be read
// again; what is refused must be refused in one line that says where.
#include <algorithm>
#include <cstdlib>
#include <sstream>
#include <stdexcept>
#include <string_view>

#include "fuzz/files.h"
#include "spec/gguf_workload.h"
#include "spec/workload_reader.h"
#include "spec/workload_writer.h"

namespace tw::fuzz {
namespace {

/// "FILE: byte NUMBER: " and printable text. By hand, because std::regex takes a stack as deep as
/// the text is long.
bool says_where(std::string_view text) {
  constexpr std::string_view byte = ": byte ";
  const size_t found = text.find(byte, 1);
  if (found == std::string_view::npos) return false;
  const size_t number = found + byte.size();
  const size_t end = text.find_first_not_of("0123456789", number);
  if (end == number || end == std::string_view::npos || text.substr(end, 2) != ": ") return false;
  const std::string_view why = text.substr(end + 2);
  return !why.empty() &&
         std::all_of(why.begin(), why.end(), [](char c) { return c >= ' ' && c <= '~'; });
}

void check(const GgufError& error) {
  constexpr size_t longest = 8192;
  const std::string_view what = error.what();
  if (what.size() > longest || !says_where(what)) std::abort();
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
