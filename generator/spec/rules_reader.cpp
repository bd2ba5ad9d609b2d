#include "spec/rules_reader.h"

#include <fmt/format.h>

#include <algorithm>

#include "spec/row_reader.h"

namespace tw {
namespace {

using Names = std::vector<std::string>;

void read_lines(const YamlNode& rules, std::string_view key, const Names& names, Names& lines) {
  const YamlNode* node = rules.find(key);
  if (node == nullptr) return;
  lines = node->texts();
  for (const std::string& line : lines) check_names(*node, line, names);
}

void read_line(const YamlNode& rules, std::string_view key, const Names& names, std::string& line) {
  const YamlNode* node = rules.find(key);
  if (node == nullptr) return;
  line = node->text();
  check_names(*node, line, names);
}

void read_count(const YamlNode& rules, std::string_view key, int& count) {
  const YamlNode* node = rules.find(key);
  if (node == nullptr) return;
  const int64_t value = node->integer();
  if (value < 0 || value > 4096) node->fail(fmt::format("'{}' must be from 0 to 4096", key));
  count = static_cast<int>(value);
}

void read_branch(const YamlNode& node, AssemblyRules& rules) {
  node.expect_keys({"equal", "not_equal", "below", "at_least"});
  for (const YamlNode::Entry& entry : node.entries()) {
    read_lines(node, entry.key, {"a", "b", "label"}, rules.branch[entry.key]);
  }
}

void read_args_register(const YamlNode& node, const Isa& isa, AssemblyRules& rules) {
  Names names;
  for (const RegisterFile& file : isa.files) {
    if (file.kind != Kind::scalar) continue;
    names.insert(names.end(), file.views.front().second.begin(), file.views.front().second.end());
  }
  if (std::find(names.begin(), names.end(), node.text()) == names.end()) {
    node.fail(unknown_text("scalar register", node.text(), names));
  }
  rules.args_register = node.text();
}

void read_rules(const YamlNode& node, const Isa& isa, AssemblyRules& rules) {
  node.expect_keys({"skip_if_zero",
                    "loop_end",
                    "jump",
                    "branch",
                    "args_register",
                    "entry",
                    "leave",
                    "frame_enter",
                    "frame_leave",
                    "frame_align",
                    "frame_bias",
                    "save_scalar",
                    "restore_scalar",
                    "save_vector",
                    "restore_vector",
                    "save_vector_bytes",
                    "cfi_frame",
                    "cfi_save",
                    "frame_address",
                    "head",
                    "foot"});
  read_lines(node, "skip_if_zero", {"n", "label"}, rules.skip_if_zero);
  read_lines(node, "loop_end", {"n", "step", "label"}, rules.loop_end);
  read_lines(node, "jump", {"label"}, rules.jump);
  if (const YamlNode* branch = node.find("branch")) read_branch(*branch, rules);
  if (const YamlNode* name = node.find("args_register")) read_args_register(*name, isa, rules);
  read_lines(node, "entry", {}, rules.entry);
  read_lines(node, "leave", {}, rules.leave);
  read_line(node, "frame_enter", {"bytes"}, rules.frame_enter);
  read_line(node, "frame_leave", {"bytes"}, rules.frame_leave);
  read_count(node, "frame_align", rules.frame_align);
  read_count(node, "frame_bias", rules.frame_bias);
  read_line(node, "save_scalar", {"r", "o"}, rules.save_scalar);
  read_line(node, "restore_scalar", {"r", "o"}, rules.restore_scalar);
  read_line(node, "frame_address", {"r", "o"}, rules.frame_address);
  read_line(node, "save_vector", {"r", "o"}, rules.save_vector);
  read_line(node, "restore_vector", {"r", "o"}, rules.restore_vector);
  read_count(node, "save_vector_bytes", rules.save_vector_bytes);
  read_line(node, "cfi_frame", {"bytes"}, rules.cfi_frame);
  read_line(node, "cfi_save", {"r", "o"}, rules.cfi_save);
  read_lines(node, "head", {}, rules.head);
  read_lines(node, "foot", {}, rules.foot);
}

}  // namespace

void read_assembly_section(const YamlNode& node, Isa& isa) {
  node.expect_keys({"head", "rules"});
  if (const YamlNode* head = node.find("head")) isa.assembly_head = head->texts();
  if (const YamlNode* rules = node.find("rules")) read_rules(*rules, isa, isa.rules);
}

}  // namespace tw
