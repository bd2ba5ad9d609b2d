#include "spec/convention_reader.h"

#include "spec/isa_reader.h"
#include "spec/register_reader.h"
#include "spec/rule_lines.h"

namespace tw {
namespace {

UnwindRules read_unwind(const YamlNode& node) {
  node.expect_keys({"begin", "end", "entry", "frame", "save_scalar", "save_vector", "prologue_end",
                    "epilogue_begin", "restore_scalar", "restore_vector", "frame_left",
                    "epilogue_end"});
  const std::vector<std::string> frame = {"bytes", "cfa"};
  const std::vector<std::string> saved = {"r", "o", "cfa_o"};
  UnwindRules rules;
  read_lines(node, "begin", {"symbol"}, rules.begin);
  read_lines(node, "end", {"symbol"}, rules.end);
  read_line(node, "entry", {}, rules.entry);
  read_line(node, "frame", frame, rules.frame);
  read_line(node, "save_scalar", saved, rules.save_scalar);
  read_line(node, "save_vector", saved, rules.save_vector);
  read_lines(node, "prologue_end", {}, rules.prologue_end);
  read_lines(node, "epilogue_begin", {}, rules.epilogue_begin);
  read_line(node, "restore_scalar", saved, rules.restore_scalar);
  read_line(node, "restore_vector", saved, rules.restore_vector);
  read_line(node, "frame_left", frame, rules.frame_left);
  read_lines(node, "epilogue_end", {}, rules.epilogue_end);
  return rules;
}

}  // namespace

Convention read_convention(const std::filesystem::path& templates_dir, const YamlNode& name) {
  const std::filesystem::path folder = templates_dir / "abi";
  name.choice("convention", yaml_names(folder));
  const YamlNode node = read_yaml(folder / (name.text() + ".yaml"));
  node.expect_keys({"extends", "args_register", "args_move", "callee_saved", "entry",
                    "before_restore", "leave", "frame_align", "frame_bias", "save_vector",
                    "restore_vector", "save_vector_bytes", "unwind"});
  Convention its;
  if (const YamlNode* extends = node.find("extends")) {
    if (extends->text() >= name.text()) {  // so that no two extend each other
      extends->fail("a convention extends one that comes before it in the alphabet");
    }
    its = read_convention(templates_dir, *extends);
  }
  its.name = name.text();
  if (const YamlNode* args = node.find("args_register")) its.args_register = args->text();
  read_line(node, "args_move", {"from", "to"}, its.args_move);
  if (const YamlNode* saved = node.find("callee_saved")) its.callee_saved = read_names(*saved);
  read_lines(node, "entry", {}, its.entry);
  read_lines(node, "before_restore", {}, its.before_restore);
  read_lines(node, "leave", {}, its.leave);
  read_count(node, "frame_align", its.frame_align);
  read_count(node, "frame_bias", its.frame_bias);
  read_line(node, "save_vector", {"r", "o"}, its.save_vector);
  read_line(node, "restore_vector", {"r", "o"}, its.restore_vector);
  read_count(node, "save_vector_bytes", its.save_vector_bytes);
  if (const YamlNode* unwind = node.find("unwind")) its.unwind = read_unwind(*unwind);
  return its;
}

}  // namespace tw
