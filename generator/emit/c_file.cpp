#include "emit/c_file.h"

#include <fmt/format.h>

#include "spec/yaml_reader.h"

namespace tw {
namespace {

std::string lines_of(const std::vector<std::string>& lines) {
  std::string text;
  for (const std::string& line : lines) text += line + "\n";
  return text;
}

}  // namespace

CFileRules read_c_file_rules(const std::filesystem::path& templates_dir) {
  const YamlNode file = read_yaml(templates_dir / "file" / "c.yaml");
  file.expect_keys({"guards", "before_functions", "portable_kernel"});
  CFileRules rules;
  for (const YamlNode::Entry& entry : file.at("guards").entries()) {
    rules.guards[entry.key] = entry.value.text();
  }
  rules.before_functions = file.at("before_functions").texts();
  const YamlNode& portable = file.at("portable_kernel");
  portable.expect_keys({"before", "after"});
  rules.before_portable_kernel = portable.at("before").texts();
  rules.after_portable_kernel = portable.at("after").texts();
  return rules;
}

const std::string& c_guard(const CFileRules& rules, const Isa& isa) {
  const auto guard = rules.guards.find(isa.architecture);
  if (guard != rules.guards.end()) return guard->second;
  throw SpecError(isa.where,
                  fmt::format("file/c.yaml has no guard for architecture '{}'", isa.architecture));
}

std::string kernel_function(const CFileRules& rules, const Isa& isa, const std::string& function) {
  if (isa.architecture != "portable") return function;
  return lines_of(rules.before_portable_kernel) + function + lines_of(rules.after_portable_kernel);
}

std::string c_file(const CFileRules& rules, const Isa& isa, const std::string& functions,
                   const std::string& symbol, const std::string& args_type) {
  const std::string& guard = c_guard(rules, isa);
  std::string text = "#include \"tilewright/kernel.h\"\n\n";
  if (!guard.empty()) text += fmt::format("#if {}\n", guard);
  for (const std::string& include : isa.c_includes) text += fmt::format("#include <{}>\n", include);
  if (!isa.c_includes.empty()) text += "\n";
  text += lines_of(rules.before_functions);
  text += fmt::format(
      "\n#ifdef __cplusplus\nextern \"C\" {{\n#endif\n\n"
      "void {}(const {}* args);\n\n{}\n"
      "#ifdef __cplusplus\n}}  // extern \"C\"\n#endif\n",
      symbol, args_type, functions);
  if (!guard.empty()) {
    text +=
        fmt::format("\n#else\n// Not for this architecture.\ntypedef int {}_is_for_{};\n#endif\n",
                    symbol, isa.architecture);
  }
  return text;
}

}  // namespace tw
