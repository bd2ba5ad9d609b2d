// specs/FAMILY.yaml -> Variants. Lists multiply: one variant for each combination; but of families,
// and formats of weights, the first goes with the first.
#pragma once

#include <filesystem>
#include <vector>

#include "model/variant.h"
#include "spec/isa_reader.h"

namespace tw {

/// All variants of a spec, in the file's order, the last list turning fastest. They point into
/// `isas`. Throws SpecError for the first mistake, with what would be legal.
std::vector<Variant> read_spec(const std::filesystem::path& file, IsaLibrary& isas);

}  // namespace tw
