#include "schedule/cost.h"

#include <algorithm>

#include "schedule/rows.h"

namespace tw {
namespace {

/// Null: the core's table lacks it. "convert.half" is "convert" where the table does not tell them
/// apart.
const IssueClass* find_class(const CoreModel& core, const std::string& name) {
  auto at = core.classes.find(name);
  if (at == core.classes.end()) at = core.classes.find(name.substr(0, name.find('.')));
  return at == core.classes.end() ? nullptr : &at->second;
}

const IssueClass& issue_class(const CoreModel& core, const std::string& name) {
  static const IssueClass nothing;
  const IssueClass* found = find_class(core, name);
  return found == nullptr ? nothing : *found;
}

bool has_vectors(const Row& row) {
  return std::any_of(row.operands.begin(), row.operands.end(),
                     [](const Operand& operand) { return operand.kind == Kind::vector; });
}

/// From the first instruction's arguments to the last one's result.
int whole_latency(const CoreModel& core, const Row& row) {
  int sum = 0;
  for (const std::string& name : row.issue_classes) sum += issue_class(core, name).latency;
  return sum;
}

/// How many of the core's vectors `bytes` of the row are.
int parts(Length bytes, const CoreModel& core, const Row& row) {
  if (core.vector_bytes == 0 || !bytes.is_fixed() || !has_vectors(row)) return 1;
  return static_cast<int>((bytes.fixed + core.vector_bytes - 1) / core.vector_bytes);
}

/// Of a row that widens what it loads, a use of the ports that load.
bool loads_less(const CoreModel& core, const Row& row, const PortUse& use) {
  if (row.load_bytes == Length{}) return false;
  const std::vector<PortUse>& loads = issue_class(core, "load").uses;
  return std::any_of(loads.begin(), loads.end(),
                     [&](const PortUse& load) { return load.ports == use.ports; });
}

/// Does the row move a pointer on, beside what else it does?
bool steps_beside(const Row& row) {
  return row.means.size() > 1 && row.means.back().code == OpCode::iadd_imm;
}

/// Is `argument` used by the node itself, while another argument comes from memory?
bool is_beside_memory(const MeansNode& node, const std::string& argument) {
  const auto has = [&](const std::string& operand) {
    return std::any_of(node.args.begin(), node.args.end(),
                       [&](const MeansArg& a) { return a.operand == operand; });
  };
  return has(argument) && has("");
}

}  // namespace

std::vector<IssueClass> costs(const Isa& isa, const CoreModel& core, const Row& row) {
  std::vector<IssueClass> all;
  for (const std::string& name : row.issue_classes) {
    all.push_back(issue_class(core, name));
    for (PortUse& use : all.back().uses) {
      const Length bytes = loads_less(core, row, use) ? row.load_bytes : isa.bytes_of(row);
      use.cycles *= parts(bytes, core, row);
    }
    if (steps_beside(row)) ++all.back().micro_ops;
  }
  return all;
}

std::string missing_class(const CoreModel& core, const Isa& isa) {
  for (const Row& row : isa.rows) {
    for (const std::string& name : row.issue_classes) {
      if (find_class(core, name) == nullptr) return name;
    }
  }
  return "";
}

double clock_share(const CoreModel& core, double multiplies, double loads) {
  const SlowClock& slow = core.slow_clock;
  const bool is_slow =
      slow.ghz != 0 && multiplies >= slow.multiplies && loads >= slow.loads * multiplies;
  return is_slow ? slow.ghz / core.ghz : 1;
}

std::vector<IssueClass> loop_control(const Isa& isa, const CoreModel& core) {
  std::vector<IssueClass> classes;
  for (size_t i = 0; i < isa.rules.loop_end.size(); ++i) {
    const bool last = i + 1 == isa.rules.loop_end.size();
    classes.push_back(issue_class(core, last ? "branch" : "scalar"));
  }
  return classes;
}

int latency(const Isa& isa, const CoreModel& core, const Op& op, size_t arg, size_t result) {
  if (op.row == nullptr) return 1;
  const int whole = whole_latency(core, *op.row);
  if (op.row->issue_classes.size() != 1) return whole;
  const IssueClass& its = issue_class(core, op.row->issue_classes[0]);
  const int accumulate = its.accumulate;
  if (its.first_result > 0 && op.results.size() > 1 && result == 0) return its.first_result;
  if (accumulate == 0 && op.row->means.size() == 1) return whole;  // most rows
  const std::string& argument = argument_operands(*op.row)[arg].name;
  const Operand& made = op.row->operands[result];
  if (made.tied == argument && accumulate > 0) return accumulate;
  if (op.row->means.size() == 1) return whole;
  for (const MeansNode& node : op.row->means) {
    if (node.result != made.name) continue;
    if (node.code == OpCode::iadd_imm) return 1;
    if (!is_beside_memory(node, argument)) continue;
    const Row* alone = isa.row_for(node.code, node.bits, op.row->bytes);
    if (alone != nullptr) return whole_latency(core, *alone);
  }
  return whole;
}

int result_latency(const Isa& isa, const CoreModel& core, const Op& op, size_t result) {
  int longest = 1;
  for (size_t a = 0; a < op.args.size(); ++a) {
    longest = std::max(longest, latency(isa, core, op, a, result));
  }
  if (op.args.empty() && op.row != nullptr) {
    longest = std::max(longest, whole_latency(core, *op.row));
  }
  return longest;
}

WriteLatency write_latency(const Isa& isa, const CoreModel& core, const Op& op) {
  if (op.row == nullptr) return {};
  if (op.results.empty()) {
    const int its = whole_latency(core, *op.row);
    return {its, its};
  }
  WriteLatency all;
  for (size_t r = 0; r < op.results.size(); ++r) {
    const int its = result_latency(isa, core, op, r);
    all.first = r == 0 ? its : std::min(all.first, its);
    all.last = std::max(all.last, its);
  }
  // A pointer's step beside a load is written at once.
  if (steps_beside(*op.row)) all.first = 0;
  return all;
}

}  // namespace tw
