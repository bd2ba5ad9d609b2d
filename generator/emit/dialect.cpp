#include "emit/dialect.h"

#include "spec/yaml_reader.h"

namespace tw {

Dialect read_dialect(const std::filesystem::path& templates_dir, const std::string& name) {
  const YamlNode root = read_yaml(templates_dir / "file" / (name + ".yaml"));
  root.expect_keys({"comment", "local_label", "guards", "function_begin", "function_end",
                    "hot_loop", "foot", "file_end"});
  Dialect dialect;
  dialect.comment = root.at("comment").text();
  dialect.local_label = root.at("local_label").text();
  for (const YamlNode::Entry& guard : root.at("guards").entries()) {
    dialect.guards[guard.key] = guard.value.text();
  }
  dialect.function_begin = root.at("function_begin").texts();
  dialect.function_end = root.at("function_end").texts();
  dialect.hot_loop = root.at("hot_loop").text();
  for (const YamlNode::Entry& foot : root.at("foot").entries()) {
    dialect.foot[foot.key] = foot.value.texts();
  }
  dialect.file_end = root.at("file_end").texts();
  return dialect;
}

}  // namespace tw
