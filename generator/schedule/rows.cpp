#include "schedule/rows.h"

#include <algorithm>

namespace tw {
namespace {

std::vector<const Operand*> operands(const Row& row, bool results) {
  std::vector<const Operand*> found;
  for (const Operand& operand : row.operands) {
    if (operand.is_result == results) found.push_back(&operand);
  }
  return found;
}

const Operand& operand(const Row& row, size_t index, bool is_result) {
  auto at = row.operands.begin();
  for (;; ++at) {
    if (at->is_result == is_result && index-- == 0) return *at;
  }
}

int index(const Row& row, std::string_view name, bool results) {
  int at = 0;
  for (const Operand& operand : row.operands) {
    if (operand.is_result != results) continue;
    if (operand.name == name) return at;
    ++at;
  }
  return -1;
}

}  // namespace

std::vector<const Operand*> result_operands(const Row& row) {
  return operands(row, true);
}
std::vector<const Operand*> argument_operands(const Row& row) {
  return operands(row, false);
}

const Operand& result_operand(const Row& row, size_t index) {
  return operand(row, index, true);
}
const Operand& argument_operand(const Row& row, size_t index) {
  return operand(row, index, false);
}

int result_index(const Row& row, std::string_view name) {
  return index(row, name, true);
}
int argument_index(const Row& row, std::string_view name) {
  return index(row, name, false);
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
  size_t result = 0;
  size_t argument = 0;
  for (const Operand& operand : op.row->operands) {
    const Value v = operand.is_result ? op.results[result++] : op.args[argument++];
    if (operand.tuple.empty()) continue;
    size_t at = 0;
    while (at < names.size() && names[at] != operand.tuple) ++at;
    if (at == names.size()) {
      names.push_back(operand.tuple);
      found.emplace_back();
    }
    found[at].push_back(v);
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

int file_index(const Isa& isa, Kind kind) {
  for (size_t i = 0; i < isa.files.size(); ++i) {
    if (isa.files[i].kind == kind) return static_cast<int>(i);
  }
  return -1;
}

int file_index(const Isa& isa, const Operand& operand) {
  if (operand.file.empty()) return file_index(isa, operand.kind);
  for (size_t i = 0; i < isa.files.size(); ++i) {
    if (isa.files[i].name == operand.file) return static_cast<int>(i);
  }
  return -1;
}

}  // namespace tw
