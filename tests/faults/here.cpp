#include "faults/here.h"

#include <algorithm>

#include "spec/isa_reader.h"
#include "support/device.h"

namespace tw::test {
namespace {

/// The longest name of an ISA in these: avx512_vnni, not avx512.
std::string isa_named(IsaLibrary& isas, const std::string& names) {
  std::string longest;
  for (const std::string& name : isas.known()) {
    if (names.find("_" + name) != std::string::npos && name.size() > longest.size()) {
      longest = name;
    }
  }
  return longest;
}

}  // namespace

std::string missing_here(const Fault& fault, const CatchingTest& test) {
  if (test.build != "host") return {};
  const bool runs_kernels = test.program == "kernels_test" || test.program == "pack_test" ||
                            test.program == "assembly_test";
  IsaLibrary isas(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates");
  const std::string made = fault.makes.empty() ? fault.file : fault.makes;
  std::string isa = fault.needs;
  if (isa.empty() && runs_kernels) isa = isa_named(isas, test.filter);
  if (isa.empty() && runs_kernels && made.starts_with("generated/")) isa = isa_named(isas, made);
  if (isa.empty()) return {};
  const tw_device device = detected_device();
  std::string missing;
  for (const std::string& feature : isas.get(isa).features) {
    if ((device.features & tw_feature_from_name(feature.c_str())) == 0) missing += " " + feature;
  }
  return missing;
}

}  // namespace tw::test
