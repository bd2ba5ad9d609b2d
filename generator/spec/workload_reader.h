// specs/workloads/NAME.yaml -> Workload.
#pragma once

#include <filesystem>

#include "model/workload.h"

namespace tw {

/// Throws SpecError.
Workload read_workload(const std::filesystem::path& file);

}  // namespace tw
