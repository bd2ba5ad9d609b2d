#include "schedule/rows.h"

#include <algorithm>

#include "ir/row_use.h"

namespace tw {
namespace {

/// Results stand before arguments.
size_t count_results(const Row& row) {
  const auto is_result = [](const Operand& operand) { return operand.is_result; };
  return static_cast<size_t>(std::count_if(row.operands.begin(), row.operands.end(), is_result));
}

int index(std::span<const Operand> operands, std::string_view name) {
  const auto at = std::find_if(operands.begin(), operands.end(),
                               [&](const Operand& operand) { return operand.name == name; });
  return at == operands.end() ? -1 : static_cast<int>(at - operands.begin());
}

}  // namespace

std::span<const Operand> result_operands(const Row& row) {
  return std::span(row.operands).first(count_results(row));
}
std::span<const Operand> argument_operands(const Row& row) {
  return std::span(row.operands).subspan(count_results(row));
}

int result_index(const Row& row, std::string_view name) {
  return index(result_operands(row), name);
}
int argument_index(const Row& row, std::string_view name) {
  return index(argument_operands(row), name);
}

Length immediate(const Op& op, std::string_view name) {
  for (size_t i = 0; i < op.row->immediates.size(); ++i) {
    if (op.row->immediates[i].name == name) return op.immediates[i];
  }
  return 0;
}

std::vector<std::vector<Value>> tuples(const Op& op) {
  std::vector<std::vector<Value>> found;
  if (op.row == nullptr) return found;
  std::vector<std::string_view> names;
  for (size_t i = 0; i < op.row->operands.size(); ++i) {
    const Operand& operand = op.row->operands[i];
    if (operand.tuple.empty()) continue;
    size_t at = 0;
    while (at < names.size() && names[at] != operand.tuple) ++at;
    if (at == names.size()) {
      names.push_back(operand.tuple);
      found.emplace_back();
    }
    found[at].push_back(operand_value(op, i));
  }
  return found;
}

Length vector_bytes(const Program& program, const Op& op) {
  Length longest;
  Length governed;
  for (const Operands* values : {&op.results, &op.args}) {
    for (Value v : *values) {
      const Type& type = program.type(v);
      if (type.kind == Kind::predicate) governed = type.bytes * std::max(op.bits / 8, 1);
      if (type.kind == Kind::vector && type.bytes.at({}) > longest.at({})) longest = type.bytes;
    }
  }
  return longest != Length{} ? longest : governed;
}

int file_index(const Isa& isa, const RegisterFile* file) {
  return file == nullptr ? -1 : static_cast<int>(file - isa.files.data());
}

int file_index(const Isa& isa, const Operand& operand) {
  return file_index(isa, operand.file.empty() ? isa.file_of(operand.kind) : isa.file(operand.file));
}

}  // namespace tw
