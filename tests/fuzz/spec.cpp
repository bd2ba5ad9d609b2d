// Fuzz target: an input is a kernel spec. It is read with the shipped templates, up to Programs.
#include "fuzz/files.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const std::filesystem::path file = tw::fuzz::scratch() / "spec.yaml";
  static tw::IsaLibrary isas(tw::fuzz::scratch() / "templates");
  tw::fuzz::write(file, {reinterpret_cast<const char*>(data), size});
  tw::fuzz::read_and_lower(file, isas);
  return 0;
}
