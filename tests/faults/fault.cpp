#include "faults/fault.h"

#include <fmt/format.h>
#include <fnmatch.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "spec/yaml_reader.h"

namespace tw::test {
namespace {

namespace fs = std::filesystem;

CatchingTest catching_test(const YamlNode& node) {
  std::istringstream words(node.text());
  CatchingTest test;
  std::string more;
  words >> test.build >> test.program >> test.filter;
  if (test.filter.empty() || words >> more) node.fail("a test is 'BUILD PROGRAM FILTER'");
  if (const size_t colon = test.build.find(':'); colon != std::string::npos) {
    test.cpu = test.build.substr(colon + 1);
    test.build.resize(colon);
  }
  if (test.build != "host" && test.build != "arm64") {
    node.fail("builds are host, arm64 and arm64:CPU");
  }
  return test;
}

Fault fault(const YamlNode& node) {
  node.expect_keys(
      {"fault", "file", "find", "first", "replace", "makes", "through", "needs", "test"});
  const auto text = [&](const char* key) {
    const YamlNode* value = node.find(key);
    return value == nullptr ? std::string() : value->text();
  };
  Fault fault{node.at("fault").text(),
              node.at("file").text(),
              text("find"),
              text("first"),
              node.at("replace").text(),
              text("makes"),
              text("through"),
              text("needs"),
              {}};
  if (fault.text.empty() == fault.pattern.empty()) {
    node.fail("one of find (a text) and first (a regular expression) is needed");
  }
  for (const YamlNode* test : node.at("test").one_or_more()) {
    fault.tests.push_back(catching_test(*test));
  }
  return fault;
}

}  // namespace

std::vector<Fault> read_faults(const fs::path& folder) {
  std::set<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml") files.insert(entry.path());
  }
  std::vector<Fault> faults;
  std::set<std::string> names;
  for (const fs::path& file : files) {
    const YamlNode root = read_yaml(file);
    root.expect_keys({"faults"});
    for (const YamlNode& node : root.at("faults").items()) {
      faults.push_back(fault(node));
      if (!names.insert(faults.back().name).second) node.fail("two faults have one name");
    }
  }
  return faults;
}

std::string find_file(const fs::path& root, const std::string& name) {
  std::vector<std::string> found;
  const fs::path folder = fs::path(name).parent_path();
  for (const fs::directory_entry& entry : fs::directory_iterator(root / folder)) {
    const std::string path = (folder / entry.path().filename()).string();
    if (fnmatch(name.c_str(), path.c_str(), FNM_PATHNAME) == 0) found.push_back(path);
  }
  if (found.size() == 1) return found.front();
  throw std::runtime_error(fmt::format("{} files are named {}, one should be", found.size(), name));
}

std::string plant(const Fault& fault, const std::string& text) {
  if (!fault.pattern.empty()) {
    std::smatch match;
    if (!std::regex_search(text, match, std::regex(fault.pattern, std::regex::multiline))) {
      throw std::runtime_error("nothing there matches " + fault.pattern);
    }
    return match.prefix().str() + match.format(fault.replacement) + match.suffix().str();
  }
  const size_t at = text.find(fault.text);
  if (at == std::string::npos || text.find(fault.text, at + 1) != std::string::npos) {
    throw std::runtime_error(fmt::format("this stands there {}: {}",
                                         at == std::string::npos ? "nowhere" : "more than once",
                                         fault.text));
  }
  return std::string(text).replace(at, fault.text.size(), fault.replacement);
}

std::string why_stale(const fs::path& root, const Fault& fault) {
  try {
    const std::string text = read_text(root / find_file(root, fault.file));
    if (plant(fault, text) == text) return "it changes nothing";
    if (!fault.makes.empty()) find_file(root, fault.makes);
    if (!fault.through.empty()) find_file(root, fault.through);
    if (!fault.needs.empty()) find_file(root, "templates/isa/" + fault.needs + ".yaml");
    if (fault.through.empty() == fault.file.ends_with(".h")) {
      return "a header, and no other file, is planted `through` a source";
    }
    return {};
  } catch (const std::exception& error) {
    return error.what();
  }
}

std::string read_text(const fs::path& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw std::runtime_error("cannot read " + path.string());
  return {std::istreambuf_iterator<char>(in), {}};
}

}  // namespace tw::test
