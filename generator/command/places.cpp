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

fs::path installed() {
  std::error_code error;
  return fs::read_symlink("/proc/self/exe", error).parent_path().parent_path() / "share" /
         "tilewright";
}

}  // namespace

fs::path records_folder() {
  return (in_source_tree() ? kSource : installed()) / "records";
}

Places find_places(const std::string& templates) {
  std::error_code error;
  Places places;
  if (in_source_tree()) {
    places = {kSource / "templates",
              kSource / "specs",
              kSource / "runtime" / "include",
              kSource / "runtime" / "src",
              kSource / "LICENSE",
              kSource / "generated",
              kSource / "integrations" / "kleidiai" / "names.yaml"};
  } else {
    const fs::path data = installed();
    places = {data / "templates",
              data / "specs",
              data / "include",
              data / "src",
              data / "LICENSE",
              "",
              ""};
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
