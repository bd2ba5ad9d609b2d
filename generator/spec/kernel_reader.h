// One entry of a spec's `kernels:` -> the Variants that its lists multiply to.
#pragma once

#include <vector>

#include "model/variant.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw {

/// The type of scales that blocks have. Throws SpecError.
ElementType read_scales(const YamlNode& node);
/// f32, f16 or bf16, for what `what` says.
ElementType read_float(const YamlNode& node, std::string_view what);

/// Appends to `variants`. Throws SpecError.
void read_kernel(const YamlNode& node, const Family& family, IsaLibrary& isas,
                 std::vector<Variant>& variants);

}  // namespace tw
