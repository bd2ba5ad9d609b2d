#include "emit/c_in_place.h"

#include <string>

#include "emit/c_values.h"
#include "emit/visitor.h"

namespace tw {
namespace {

/// Short scalar expressions that read well inside another one.
bool is_short(OpCode code) {
  return code == OpCode::arg || code == OpCode::iadd || code == OpCode::iadd_imm ||
         code == OpCode::isub || code == OpCode::imul || code == OpCode::ishl ||
         code == OpCode::ishr || code == OpCode::iand_imm;
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

std::vector<Use> find_uses(const Program& program) {
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

bool reads_well_in_place(const Op& op, const Use& use, const Region& region,
                         const std::string& hint) {
  if (op.code == OpCode::constant || op.code == OpCode::length) return true;
  if (use.region != &region) return false;
  // "args->n" may stand several times where loops begin, but a hot loop shall not read it again.
  if (op.code == OpCode::arg && !use.by_operation) return !use.is_hot_count;
  if (use.count != 1 || use.is_count) return false;
  if (op.code == OpCode::arg) return true;
  if (op.code == OpCode::isub_sat && use.is_test) return true;
  return is_short(op.code) && (hint.empty() || !use.by_operation);
}

}  // namespace

std::vector<const Op*> choose_in_place(const Program& program) {
  const std::vector<Use> uses = find_uses(program);
  std::vector<const Op*> in_place(program.values.size(), nullptr);
  Visitor visitor;
  visitor.op = [&](const Op& op, const Region& region) {
    if (op.results.empty()) return;
    const Value v = op.results[0];
    if (reads_well_in_place(op, uses[at(v)], region, program.values[at(v)].name)) {
      in_place[at(v)] = &op;
    }
  };
  visitor.visit(program.body);
  return in_place;
}

}  // namespace tw
