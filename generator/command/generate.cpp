#include <fmt/format.h>

#include <chrono>

#include "command/commands.h"
#include "command/places.h"
#include "pipeline/generated_tree.h"

namespace tw {
namespace {

namespace fs = std::filesystem;

/// What makes the same files again, without anybody's paths.
std::string command_again(const GenerateOptions& options) {
  std::string text = "tilewright generate";
  for (const std::string& spec : options.specs) {
    text += " --spec " + fs::path(spec).filename().string();
  }
  return options.out.empty() ? text : text + " --out DIR";
}

int check(const fs::path& root, const GeneratedTree& tree) {
  const auto differences = compare_tree(root, tree.files);
  for (const auto& [difference, path] : differences) {
    fmt::print("{}: {}\n", shown(root / path), name(difference));
  }
  if (differences.empty()) {
    fmt::print("{}: {} files are as generated\n", shown(root), tree.files.size());
    return 0;
  }
  fmt::print("{} of {} files differ; `tilewright generate` makes them equal\n", differences.size(),
             tree.files.size());
  return 1;
}

}  // namespace

int run_generate(const GenerateOptions& options) {
  const auto begin = std::chrono::steady_clock::now();
  const Places places = find_places(options.templates);
  const bool own = !options.specs.empty() || !options.out.empty();
  if (!options.specs.empty() && options.out.empty()) {
    throw UsageError("--spec needs --out: the folder for the files that it makes");
  }
  if (!own && places.generated.empty()) {
    throw UsageError("an installed command needs --out: the folder for the files");
  }
  const fs::path root = own ? fs::path(options.out) : places.generated;
  TreeOptions tree_options{places.templates,
                           {TILEWRIGHT_VERSION, command_again(options)},
                           own ? places.headers : fs::path()};
  if (!own) tree_options.names = {places.names, "integrations/kleidiai/names.yaml"};
  const GeneratedTree tree = generate_tree(spec_inputs(options.specs, places), tree_options);
  if (options.check) return check(root, tree);

  const TreeChanges changes = write_tree(root, tree.files);
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  fmt::print("{}: {} kernels, {} packers; {} files written, {} unchanged{}; {:.2f} s\n",
             shown(root), tree.kernels, tree.packers, changes.written, changes.unchanged,
             changes.removed > 0 ? fmt::format(", {} removed", changes.removed) : "",
             seconds.count());
  return 0;
}

}  // namespace tw
