#include "command/places.h"

#include <fmt/format.h>

#include <stdexcept>

#include "spec/isa_reader.h"

namespace tw {

namespace fs = std::filesystem;

namespace {

const fs::path kSource = TILEWRIGHT_SOURCE_DIR;

bool in_source_tree() {
  std::error_code error;
  return fs::is_directory(kSource / "templates", error);
}

/// The source tree, or what is installed of it.
fs::path data_folder() {
  if (in_source_tree()) return kSource;
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share" /
         "tilewright";
}

}  // namespace

fs::path records_folder() {
  return data_folder() / "records";
}

Places find_places(const std::string& templates) {
  std::error_code error;
  const fs::path data = data_folder();
  const fs::path runtime = in_source_tree() ? data / "runtime" : data;
  Places places = {data / "templates",
                   data / "specs",
                   runtime / "include",
                   runtime / "src",
                   data / "LICENSE",
                   "",
                   ""};
  if (in_source_tree()) {
    places.generated = data / "generated";
    places.names = data / "integrations" / "kleidiai" / "names.yaml";
  }
  if (!templates.empty()) places.templates = templates;
  if (!fs::is_directory(places.templates / "isa", error)) {
    throw std::runtime_error(fmt::format("no templates at {}: give their folder with --templates",
                                         shown(places.templates)));
  }
  return places;
}

std::string shown(const fs::path& path) {
  std::error_code error;
  const fs::path relative = fs::proximate(path, error);
  const std::string text = relative.string();
  return error || text.empty() || text.size() > path.string().size() ? path.string() : text;
}

std::vector<SpecInput> spec_inputs(const std::vector<std::string>& asked, const Places& places) {
  std::vector<SpecInput> inputs;
  for (const std::string& file : asked) {
    inputs.push_back({file, fs::path(file).filename().string()});
  }
  if (!asked.empty()) return inputs;
  for (const std::string& name : yaml_names(places.specs)) {
    const std::string file = name + ".yaml";
    inputs.push_back({shown(places.specs / file), "specs/" + file});
  }
  return inputs;
}

}  // namespace tw
