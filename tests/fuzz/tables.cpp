// Fuzz target: an input is a letter and a table. "i": an instruction table called fuzz, which small
// specs then use; "c": a core table called fuzz; "w": a workload.
#include <array>
#include <string>

#include "fuzz/files.h"
#include "spec/core_reader.h"
#include "spec/workload_reader.h"

namespace tw::fuzz {
namespace {

void read_instructions(std::string_view text) {
  static const std::filesystem::path templates = scratch() / "templates";
  write(templates / "isa" / "fuzz.yaml", text);
  IsaLibrary isas(templates);
  (void)isas.get("fuzz");
  for (const char* technique : {"dot", "mmla", "fma", "outer", "tile"}) {
    const std::filesystem::path spec = scratch() / (std::string(technique) + ".yaml");
    write(spec,
          "family: matmul_clamp_f32_qai8dxp_qsi4cxp\n"
          "lhs: {format: qai8dx, from: f32}\n"
          "rhs: {format: qsi4cx, from: nxk}\n"
          "dst: f32\n"
          "kernels: [{isa: fuzz, technique: " +
              std::string(technique) + ", tile: {m: 4, n: 16}}]\n");
    read_and_lower(spec, isas);
  }
}

void read_table(char kind, std::string_view text) {
  if (kind == 'i') {
    read_instructions(text);
  } else if (kind == 'c') {
    write(scratch() / "templates" / "core" / "fuzz.yaml", text);
    (void)read_core(scratch() / "templates", "fuzz");
  } else if (kind == 'w') {
    write(scratch() / "workload.yaml", text);
    (void)read_workload(scratch() / "workload.yaml");
  }
}

}  // namespace
}  // namespace tw::fuzz

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  try {
    tw::fuzz::read_table(static_cast<char>(data[0]),
                         {reinterpret_cast<const char*>(data) + 1, size - 1});
  } catch (const tw::SpecError& error) {
    tw::fuzz::check_message(error);
  }
  return 0;
}
