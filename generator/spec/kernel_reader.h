// One entry of a spec's `kernels:` -> the Variants that its lists multiply to.
#pragma once

#include <vector>

#include "model/variant.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw {

/// What all kinds of kernels have: the ISA, `print:` (which of intrinsics and assembly; all that
/// there are where the entry does not say), `spills:` (what compiling the intrinsics has shown:
/// `none`, or compilers), and where the entry stands.
void read_common(const YamlNode& entry, const Isa& isa, Variant& variant);

/// Appends to `variants`. Throws SpecError.
void read_kernel(const YamlNode& node, const Family& family, IsaLibrary& isas,
                 std::vector<Variant>& variants);

}  // namespace tw
