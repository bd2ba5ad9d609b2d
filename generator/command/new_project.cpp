#include <fmt/format.h>

#include <filesystem>

#include "command/commands.h"
#include "command/places.h"
#include "pipeline/project.h"
#include "spec/workload_reader.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

/// What is there is somebody's work: a project starts from nothing.
void check_empty(const fs::path& folder) {
  std::error_code error;
  if (!fs::exists(fs::symlink_status(folder, error))) return;
  if (!fs::is_directory(folder, error)) {
    throw TreeError(fmt::format("{} is not a folder: give an empty one, or one that does not exist",
                                folder.string()));
  }
  const fs::directory_iterator files(folder, error);
  if (error) throw TreeError(fmt::format("cannot read {}: {}", folder.string(), error.message()));
  if (files == fs::directory_iterator()) return;
  throw TreeError(fmt::format("{} is not empty: give an empty folder, or one that does not exist",
                              folder.string()));
}

}  // namespace

int run_new_project(const NewProjectOptions& options) {
  if (options.folder.empty()) throw UsageError("DIR is empty: it names the folder to write");
  check_empty(options.folder);
  const Workload workload = read_workload(options.workload);
  const std::string version = TILEWRIGHT_VERSION;
  const std::vector<TreeFile> files = project_files(workload, version.substr(0, version.rfind('.')),
                                                    find_places(options.templates).templates);
  write_tree(options.folder, files);
  fmt::print("{}: {} files; {}/README.md says how to build them\n", options.folder, files.size(),
             options.folder);
  return 0;
}

}  // namespace tw
