#include "spec/rules_reader.h"

#include "spec/rule_lines.h"

namespace tw {
namespace {

void read_branch(const YamlNode& node, AssemblyRules& rules) {
  node.expect_keys({"equal", "not_equal", "below", "at_least"});
  for (const YamlNode::Entry& entry : node.entries()) {
    read_lines(node, entry.key, {"a", "b", "label"}, rules.branch[entry.key]);
  }
}

void read_rules(const YamlNode& node, AssemblyRules& rules) {
  node.expect_keys({"skip_if_zero", "loop_end", "jump", "branch", "entry", "frame_enter",
                    "frame_leave", "touch_page", "save_scalar", "restore_scalar", "frame_address",
                    "align_address", "head", "foot"});
  read_lines(node, "skip_if_zero", {"n", "label"}, rules.skip_if_zero);
  read_lines(node, "loop_end", {"n", "step", "label"}, rules.loop_end);
  read_lines(node, "jump", {"label"}, rules.jump);
  if (const YamlNode* branch = node.find("branch")) read_branch(*branch, rules);
  read_lines(node, "entry", {}, rules.entry);
  read_line(node, "frame_enter", {"bytes"}, rules.frame_enter);
  read_line(node, "frame_leave", {"bytes"}, rules.frame_leave);
  read_line(node, "touch_page", {"bytes"}, rules.touch_page);
  read_line(node, "save_scalar", {"r", "o"}, rules.save_scalar);
  read_line(node, "restore_scalar", {"r", "o"}, rules.restore_scalar);
  read_line(node, "frame_address", {"r", "o"}, rules.frame_address);
  read_line(node, "align_address", {"r", "bytes"}, rules.align_address);
  read_lines(node, "head", {}, rules.head);
  read_lines(node, "foot", {}, rules.foot);
}

}  // namespace

void read_assembly_section(const YamlNode& node, Isa& isa) {
  node.expect_keys({"head", "rules"});
  if (const YamlNode* head = node.find("head")) isa.assembly_head = head->texts();
  if (const YamlNode* rules = node.find("rules")) read_rules(*rules, isa.rules);
}

}  // namespace tw
