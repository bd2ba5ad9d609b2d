#include <fmt/format.h>

#include "command/commands.h"
#include "command/places.h"
#include "pipeline/project.h"
#include "spec/workload_reader.h"

namespace tw {
int run_new_project(const NewProjectOptions& options) {
  if (options.folder.empty()) throw UsageError("DIR is empty: it names the folder to write");
  check_nothing_there(options.folder);
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
