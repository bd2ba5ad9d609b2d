// An engine's side of a workload as C: the files of templates/project/, and the workload as tables.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "emit/write_tree.h"
#include "model/workload.h"

namespace tw {

/// `version` is the oldest library that serves. Throws std::runtime_error.
std::vector<TreeFile> project_files(const Workload& workload, const std::string& version,
                                    const std::filesystem::path& templates);

/// What is there is somebody's work: a project starts from nothing. Throws TreeError unless the
/// folder is empty or missing.
void check_nothing_there(const std::filesystem::path& folder);

}  // namespace tw
