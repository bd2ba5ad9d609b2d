#include "emit/c_forms.h"

#include <string>

#include "emit/visitor.h"

namespace tw {
namespace {

bool has_effect(const Op& op) {
  return op.results.empty() || info(op.code).result == '-';
}

/// Short scalar expressions that read well inside another one.
bool may_stand_in_place(OpCode code) {
  switch (code) {
    case OpCode::arg:
    case OpCode::iadd:
    case OpCode::iadd_imm:
    case OpCode::isub:
    case OpCode::imul:
    case OpCode::ishl:
    case OpCode::ishr:
    case OpCode::iand_imm:
      return true;
    default:
      return false;
  }
}

/// Who uses a value.
struct Use {
  int count = 0;
  const Region* region = nullptr;  ///< of all uses; null when they are in several
  bool by_operation = false;       ///< else only as initial or next values, counts, conditions
  bool is_test = false;            ///< of an if_null
  bool is_count = false;           ///< of a loop, which compares with it in every iteration
  bool is_hot_count = false;
};

std::vector<Use> count_uses(const Program& program) {
  std::vector<Use> uses(program.values.size());
  auto use = [&](Value v, const Region* region) -> Use& {
    Use& found = uses[at(v)];
    found.region = found.count == 0 || found.region == region ? region : nullptr;
    ++found.count;
    return found;
  };
  Visitor visitor;
  visitor.op = [&](const Op& op, const Region& region) {
    for (Value arg : op.args) use(arg, &region).by_operation = true;
    if (op.code == OpCode::if_null) uses[at(op.args[0])].is_test = true;
  };
  visitor.loop = [&](const Loop& loop, const Region& region) {
    Use& count = use(loop.count, &region);
    count.is_count = true;
    count.is_hot_count = count.is_hot_count || loop.hot;
    for (Value init : loop.inits) use(init, &region);
    for (Value yield : loop.yields) use(yield, &loop.body);
  };
  visitor.branch = [&](const If& branch, const Region& region) {
    use(branch.a, &region);
    use(branch.b, &region);
  };
  visitor.visit(program.body);
  return uses;
}

/// Marks operations without effect whose results nobody uses, again and again.
void find_unused(const Program& program, std::vector<Use>& uses, CValues& values) {
  std::vector<const Op*> order;
  Visitor visitor;
  visitor.op = [&](const Op& op, const Region&) { order.push_back(&op); };
  visitor.visit(program.body);
  for (auto op = order.rbegin(); op != order.rend(); ++op) {
    if (has_effect(**op) || uses[at((*op)->results[0])].count > 0) continue;
    values.form[at((*op)->results[0])] = CForm::unused;
    for (Value arg : (*op)->args) --uses[at(arg)].count;
  }
}

bool reads_well_in_place(const Op& op, const Use& use, const Region& region,
                         const std::string& hint) {
  if (op.code == OpCode::constant || op.code == OpCode::length) return true;
  if (use.region != &region) return false;
  // "args->n" may stand several times where loops begin, but a hot loop shall not read it again.
  if (op.code == OpCode::arg && !use.by_operation) return !use.is_hot_count;
  if (use.count != 1 || use.is_count) return false;
  if (op.code == OpCode::arg) return true;
  if (op.code == OpCode::isub_sat && use.is_test) return true;
  return may_stand_in_place(op.code) && (hint.empty() || !use.by_operation);
}

}  // namespace

void choose_forms(const Program& program, CValues& values) {
  std::vector<Use> uses = count_uses(program);
  find_unused(program, uses, values);
  Visitor visitor;
  visitor.op = [&](const Op& op, const Region& region) {
    if (has_effect(op)) return;
    const Value v = op.results[0];
    values.definition[at(v)] = &op;
    if (values.form[at(v)] == CForm::unused) return;
    if (reads_well_in_place(op, uses[at(v)], region, program.values[at(v)].name)) {
      values.form[at(v)] = CForm::in_place;
    }
  };
  visitor.visit(program.body);
}

}  // namespace tw
