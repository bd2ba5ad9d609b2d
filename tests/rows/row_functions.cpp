#include "rows/row_functions.h"

#include <fmt/format.h>

#include <stdexcept>

#include "emit/c_values.h"
#include "rows/means.h"
#include "schedule/allocate.h"
#include "schedule/rows.h"
#include "schedule/select.h"

namespace tw::test {
namespace {

/// The row as itself, everything around it selected, on the registers that allocation chooses.
Program allocated_program(const RowUse& use, bool keep) {
  Program program = row_program(use, keep).selected;
  select(program, {.loads_per_row = 1});
  allocate(program);
  return program;
}

/// Vectors and predicates moved to the other half of their files.
void move_to_high_registers(Program& program) {
  const std::vector<int> files = register_files(program);
  for (size_t v = 0; v < program.registers.size(); ++v) {
    if (program.registers[v] < 0 || program.values[v].type.kind == Kind::scalar) continue;
    const int count = program.isa->files[static_cast<size_t>(files[v])].count();
    program.registers[v] = (program.registers[v] + count / 2) % count;
  }
}

/// The row's own instruction: the only one whose results are `results`.
const Op* op_of(const Program& program, const Op& wanted) {
  for (const Node& node : program.body.nodes) {
    const Op& op = std::get<Op>(node);
    if (op.row == wanted.row && op.results == wanted.results) return &op;
  }
  return nullptr;
}

}  // namespace

bool is_selected(const RowUse& use, const RowProgram& program) {
  if (use.row->assembly.empty()) return false;
  Program chosen = clone(program.lowered);
  select(chosen);
  const Op& wanted = row_op(program);
  const Op* found = op_of(chosen, wanted);
  return found != nullptr && found->immediates == wanted.immediates;
}

bool is_printed_in_c(const RowUse& use, const RowProgram& program) {
  if (!use.isa->can_print_c) return false;
  if (is_plain(*use.row)) return true;
  if (use.row->c.empty() || use.row->means.size() != 1) return false;
  for (const Node& node : program.lowered.body.nodes) {
    const Op& op = std::get<Op>(node);
    if (op.code != use.row->means[0].code || op.results != row_op(program).results) continue;
    if (&c_row(program.lowered, op) == use.row) return true;
  }
  return false;
}

std::vector<RowFunction> row_functions(const RowUse& use, const RowGroup& group) {
  std::vector<RowFunction> all;
  const RowProgram plain = row_program(use, false);
  if (is_printed_in_c(use, plain)) {
    all.push_back({false, false, "any registers", clone(plain.lowered)});
  }
  if (use.row->assembly.empty()) return all;
  const Op wanted = row_op(plain);
  size_t printed = 0;
  auto add = [&](Program program, bool keeps, const std::string& operands) {
    // Allocation drops copies from a register to itself.
    if (op_of(program, wanted) == nullptr) return;
    ++printed;
    const std::string wrong = check_registers(program, group, keeps);
    if (!wrong.empty()) {
      throw std::runtime_error(fmt::format("{}, {}: {}", to_string(use), operands, wrong));
    }
    all.push_back({true, keeps, operands, std::move(program)});
  };
  add(allocated_program(use, false), false, "arguments may be overwritten");
  Program kept = allocated_program(use, true);
  add(clone(kept), true, "arguments kept");
  move_to_high_registers(kept);
  if (verify_registers(kept).empty()) add(std::move(kept), true, "high registers");

  // The first result in the register of each argument that allows it.
  const Program apart = allocated_program(use, false);
  const size_t arguments =
      op_of(apart, wanted) == nullptr || wanted.results.empty() ? 0 : wanted.args.size();
  for (size_t i = 0; i < arguments; ++i) {
    Program shared = clone(apart);
    shared.registers[static_cast<size_t>(wanted.results[0])] =
        shared.registers[static_cast<size_t>(op_of(apart, wanted)->args[i])];
    if (shared.registers == apart.registers || !check_registers(shared, group, false).empty()) {
      continue;
    }
    add(std::move(shared), false,
        fmt::format("result shares a register with {}", argument_operands(*use.row)[i].name));
  }
  if (printed == 0) throw std::runtime_error(to_string(use) + ": no assembly shows it");
  return all;
}

}  // namespace tw::test
