#include "ir/row_use.h"

#include <fmt/format.h>

#include <algorithm>

#include "ir/text.h"
#include "ir/typing.h"
#include "model/reject.h"

namespace tw {
namespace {

template <typename... T>
[[noreturn]] void wrong(fmt::format_string<T...> text, T&&... args) {
  reject(text, std::forward<T>(args)...);
}

int operand_index(const Row& row, const std::string& name) {
  for (size_t i = 0; i < row.operands.size(); ++i) {
    if (row.operands[i].name == name) return static_cast<int>(i);
  }
  wrong("row {} has no operand {}", row.name, name);
}

void check_operands(const Program& program, const Op& op) {
  const Row& row = *op.row;
  size_t results = 0;
  while (results < row.operands.size() && row.operands[results].is_result) ++results;
  size_t args = row.operands.size() - results;
  if (op.results.size() != results) {
    wrong("it has {} results, row {} has {}", op.results.size(), row.name, results);
  }
  if (op.args.size() != args) {
    wrong("it has {} arguments, row {} has {}", op.args.size(), row.name, args);
  }
  for (size_t i = 0; i < row.operands.size(); ++i) {
    Kind kind = program.type(operand_value(op, i)).kind;
    if (kind != row.operands[i].kind) {
      wrong("operand {} is a {}, row {} takes a {}", row.operands[i].name, name(kind), row.name,
            name(row.operands[i].kind));
    }
    if (kind != Kind::tile) continue;
    const Type& type = program.type(operand_value(op, i));
    const RegisterFile* file = program.isa->file(row.operands[i].file);
    if (file == nullptr || holds(*file, type)) continue;
    wrong("operand {} has {} rows of {} bytes, row {} takes {} of {}", row.operands[i].name,
          to_string(type.rows), to_string(type.bytes), row.name, to_string(file->rows),
          to_string(file->bytes));
  }
}

void check_immediates(const Op& op) {
  const Row& row = *op.row;
  if (op.immediates.size() != row.immediates.size()) {
    wrong("it has {} immediates, row {} has {}", op.immediates.size(), row.name,
          row.immediates.size());
  }
  for (size_t i = 0; i < row.immediates.size(); ++i) {
    const Immediate& field = row.immediates[i];
    Length value = op.immediates[i];
    if (field.fits(value)) continue;
    wrong("immediate {} = {} does not fit {} {} bits times {} of row {}", field.name,
          to_string(value), field.bits, field.is_signed ? "signed" : "unsigned",
          to_string(field.unit()), row.name);
  }
}

Length immediate(const Op& op, const std::string& name) {
  if (name.empty()) return {};
  for (size_t i = 0; i < op.row->immediates.size(); ++i) {
    if (op.row->immediates[i].name == name) return op.immediates[i];
  }
  wrong("row {} has no immediate {}", op.row->name, name);
}

/// What the step makes by itself, which its operand must be.
Type made_by(const Program& program, const Row& row, const RowStep& step) {
  const OpCode code = step.use.code;
  const bool loads_less = code == OpCode::load && row.load_bytes != Length{};
  const Length bytes = info(code).takes('v') ? Length{} : loads_less ? row.load_bytes : row.bytes;
  return result_type(code, step.use.bits, bytes, step.use.args, *program.isa);
}

/// A row moves as many bytes as it has, whatever value it is given.
void check_store(const Program& program, const Row& row, const OperationUse& use) {
  const OpInfo& about = info(use.code);
  if (!writes_memory(use.code) || !about.takes('v') || about.has('b')) return;
  Length stored = program.isa->bytes_of(row);
  if (use.args.size() == 2 && use.args[1].bytes != stored) {
    wrong("it stores {} bytes, row {} stores {}", to_string(use.args[1].bytes), row.name,
          to_string(stored));
  }
}

RowStep step_of(const Program& program, const Op& op, const MeansNode& node,
                const std::vector<RowStep>& earlier) {
  const Row& row = *op.row;
  RowStep step;
  step.use.code = node.code;
  step.use.bits = node.bits;
  step.use.offset = node.offset + immediate(op, node.offset_name);
  step.use.imm = node.imm + immediate(op, node.imm_name).fixed;
  for (const MeansArg& arg : node.args) {
    if (arg.operand.empty()) {
      if (arg.node < 0 || static_cast<size_t>(arg.node) >= earlier.size() ||
          earlier[static_cast<size_t>(arg.node)].use.results.empty()) {
        wrong("row {} uses a value that it does not make", row.name);
      }
      step.args.push_back({-1, arg.node});
      step.use.args.push_back(earlier[static_cast<size_t>(arg.node)].use.results[0]);
    } else {
      int index = operand_index(row, arg.operand);
      bool made = std::any_of(earlier.begin(), earlier.end(),
                              [&](const RowStep& before) { return before.result == index; });
      if (row.operands[static_cast<size_t>(index)].is_result && !made) {
        wrong("row {} reads its result {} before it makes it", row.name, arg.operand);
      }
      step.args.push_back({index, -1});
      Value v = operand_value(op, static_cast<size_t>(index));
      step.use.args.push_back(program.type(v));
    }
  }
  if (info(node.code).result == '-') return step;
  Type made = made_by(program, row, step);
  if (!node.result.empty()) {
    step.result = operand_index(row, node.result);
    Type wanted = program.type(operand_value(op, static_cast<size_t>(step.result)));
    const bool any = made.kind == Kind::tile || info(node.code).facts.lengths == Lengths::any;
    if (wanted != made && !any) {
      wrong("operand {} has length {}, row {} makes {}", node.result, to_string(wanted.bytes),
            row.name, to_string(made.bytes));
    }
    made = wanted;
  }
  step.use.results.push_back(made);
  return step;
}

}  // namespace

Value operand_value(const Op& op, size_t index) {
  return index < op.results.size() ? op.results[index] : op.args[index - op.results.size()];
}

std::vector<RowStep> row_steps(const Program& program, const Op& op) {
  check_operands(program, op);
  check_immediates(op);
  std::vector<RowStep> steps;
  for (const MeansNode& node : op.row->means) {
    steps.push_back(step_of(program, op, node, steps));
    const OperationUse& use = steps.back().use;
    std::string text = check_operation(use, program.frame_slots);
    if (!text.empty()) wrong("in its {}: {}", info(use.code).name, text);
    check_store(program, *op.row, use);
  }
  return steps;
}

}  // namespace tw
