// One entry of a spec's `kernels:` -> the Variants that its lists multiply to.
#pragma once

#include <vector>

#include "model/variant.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw {

/// `print:` which of intrinsics and assembly; all that there are where the entry does not say.
void read_printers(const YamlNode& entry, const Isa& isa, Variant& variant);
/// `spills:` what compiling the intrinsics has shown: `none`, or compilers.
void read_spills(const YamlNode& entry, Variant& variant);

/// Appends to `variants`. Throws SpecError.
void read_kernel(const YamlNode& node, const Family& family, IsaLibrary& isas,
                 std::vector<Variant>& variants);

}  // namespace tw
