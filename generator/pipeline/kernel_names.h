// Names of registry rows: what they are before anything is generated, and those near a wrong one.
#pragma once

#include <string>
#include <vector>

#include "model/variant.h"

namespace tw {

/// Of a variant's C function and of its assembly, whether it has these or not.
std::string intrinsics_name(const Variant& variant);
std::string assembly_name(const Variant& variant);
/// Of the code, which rows of long blocks share.
std::string intrinsics_symbol(const Variant& variant);
std::string assembly_symbol(const Variant& variant);
bool prints_intrinsics(const Variant& variant);
bool prints_assembly(const Variant& variant);
/// Of the rows that it makes, in the registry's order.
std::vector<std::string> row_names(const Variant& variant);

/// The `most` of `names` that look most like `wanted`.
std::vector<std::string> nearest_kernels(const std::string& wanted, std::vector<std::string> names,
                                         size_t most);

}  // namespace tw
