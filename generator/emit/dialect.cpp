#include "emit/dialect.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

#include "emit/c_file.h"
#include "spec/convention_reader.h"
#include "spec/isa_reader.h"

namespace tw {
namespace {

void read_by_architecture(const YamlNode& map, const char* key,
                          std::map<std::string, std::vector<std::string>>& lines) {
  const YamlNode* node = map.find(key);
  if (node == nullptr) return;
  for (const YamlNode::Entry& entry : node->entries()) lines[entry.key] = entry.value.texts();
}

ObjectFormat read_object(const std::filesystem::path& templates_dir, const YamlNode& name) {
  const std::filesystem::path folder = templates_dir / "object";
  const std::vector<std::string> known = yaml_names(folder);
  if (std::find(known.begin(), known.end(), name.text()) == known.end()) {
    name.fail(unknown_text("object format", name.text(), known));
  }
  const YamlNode root = read_yaml(folder / (name.text() + ".yaml"));
  root.expect_keys({"condition", "conventions", "local_label", "function_begin", "function_end",
                    "hot_loop", "foot", "file_end"});
  ObjectFormat object;
  object.name = name.text();
  object.condition = root.at("condition").text();
  object.local_label = root.at("local_label").text();
  for (const YamlNode::Entry& entry : root.at("conventions").entries()) {
    object.conventions[entry.key] = read_convention(templates_dir, entry.value);
  }
  object.function_begin = root.at("function_begin").texts();
  if (const YamlNode* end = root.find("function_end")) object.function_end = end->texts();
  read_by_architecture(root, "hot_loop", object.hot_loop);
  read_by_architecture(root, "foot", object.foot);
  if (const YamlNode* end = root.find("file_end")) object.file_end = end->texts();
  return object;
}

}  // namespace

Dialect read_dialect(const std::filesystem::path& templates_dir) {
  const YamlNode root = read_yaml(templates_dir / "file" / "assembly.yaml");
  root.expect_keys({"objects", "comment"});
  Dialect dialect;
  dialect.comment = root.at("comment").text();
  dialect.guards = read_c_file_rules(templates_dir).guards;
  for (const YamlNode& name : root.at("objects").items()) {
    dialect.objects.push_back(read_object(templates_dir, name));
  }
  return dialect;
}

Dialect only(Dialect dialect, const std::string& object) {
  std::erase_if(dialect.objects, [&](const ObjectFormat& it) { return it.name != object; });
  return dialect;
}

std::string assembly_guard(const Dialect& dialect, const std::string& architecture) {
  const auto guard = dialect.guards.find(architecture);
  if (guard == dialect.guards.end()) {
    throw std::runtime_error(fmt::format("assembly files have no guard for {}", architecture));
  }
  std::string objects;
  for (const ObjectFormat& object : dialect.objects) {
    objects += (objects.empty() ? "" : " || ") + object.condition;
  }
  if (dialect.objects.size() > 1) objects = "(" + objects + ")";
  return guard->second + " && " + objects;
}

}  // namespace tw
