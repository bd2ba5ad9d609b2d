// What a cost model needs to know of kernels, from the specs that make them.
#pragma once

#include <filesystem>
#include <vector>

#include "pipeline/generated_tree.h"
#include "tuner/cost_model.h"

namespace tw {

/// Reads the specs, and makes a kernel as far as needed, when it is asked for the first time.
/// Throws SpecError then.
tuner::FactsOf facts_from_specs(const std::vector<SpecInput>& specs,
                                const std::filesystem::path& templates);

}  // namespace tw
