// One entry of `kernels:` in a spec of attention -> the Variants that its lists multiply to.
#pragma once

#include <vector>

#include "model/variant.h"
#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw {

/// Appends to `variants`. Throws SpecError.
void read_attention_kernel(const YamlNode& entry, const Family& family, IsaLibrary& isas,
                           std::vector<Variant>& variants);

}  // namespace tw
