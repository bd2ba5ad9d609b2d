#include <fmt/format.h>

#include "command/commands.h"
#include "command/places.h"
#include "pipeline/shipped_tree.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

/// What goes into the tree. The only place that decides it.
std::vector<ChosenKernel> chosen_kernels(const ShipOptions& options) {
  std::vector<ChosenKernel> chosen;
  for (const std::string& name : options.kernels) chosen.push_back({name, "asked for by name"});
  return chosen;
}

/// What makes the same tree again, without anybody's paths.
std::string command_again(const ShipOptions& options) {
  std::string text = "tilewright ship";
  for (const std::string& spec : options.specs) {
    text += " --spec " + fs::path(spec).filename().string();
  }
  for (const std::string& kernel : options.kernels) text += " --kernel " + kernel;
  return text + " --out DIR";
}

}  // namespace

int run_ship(const ShipOptions& options) {
  if (options.out.empty()) throw UsageError("--out is empty: it names the folder to write");
  const Places places = find_places(options.templates);
  const ShippedTree tree =
      ship_tree(spec_inputs(options.specs, places),
                {places.templates, places.headers, places.sources, places.license},
                {TILEWRIGHT_VERSION, command_again(options)}, chosen_kernels(options));
  check_only_ours(options.out, tree.files);
  const TreeChanges changes = write_tree(options.out, tree.files);
  fmt::print("{}: {} kernels, {} packers; {} files written, {} unchanged{}\n", options.out,
             tree.kernels, tree.packers, changes.written, changes.unchanged,
             changes.removed > 0 ? fmt::format(", {} removed", changes.removed) : "");
  for (const std::string& remark : tree.remarks) fmt::print("{}\n", remark);
  return 0;
}

}  // namespace tw
