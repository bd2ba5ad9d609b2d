#include "emit/c_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "emit/c_forms.h"
#include "emit/c_lives.h"
#include "emit/c_scalars.h"
#include "emit/c_sharing.h"
#include "emit/c_text.h"
#include "emit/visitor.h"

namespace tw {
namespace {

void name_type(const Program& program, Value one, const std::string& type_class,
               const CValues& values, CVariable& variable) {
  if (program.type(one).kind == Kind::scalar) {
    variable.type = c_scalar_type(values.scalar[at(one)]);
    return;
  }
  const auto type = program.isa->c_types.find(type_class);
  if (type == program.isa->c_types.end()) {
    throw std::runtime_error(
        fmt::format("{}: c: types: has no class '{}'", to_string(program.isa->where), type_class));
  }
  variable.type_class = type_class;
  variable.type = type->second;
}

/// A pointer that starts where another one stays gets a name that says so.
void name_cursors(const Program& program, CValues& values) {
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) {
      const int from = values.variable[at(loop.inits[i])];
      const int to = values.variable[at(loop.params[i])];
      if (from < 0 || from == to || program.type(loop.params[i]).kind != Kind::scalar) continue;
      CVariable& cursor = values.variables[static_cast<size_t>(to)];
      if (cursor.hint == values.variables[static_cast<size_t>(from)].hint) cursor.hint += "_at";
    }
  };
  visitor.visit(program.body);
}

}  // namespace

const Row& c_row(const Program& program, const Op& op) {
  const Isa& isa = *program.isa;
  // A row is made for the longest of its vectors, as selection sees it.
  Length bytes;
  for (const std::vector<Value>* list : {&op.args, &op.results}) {
    for (Value v : *list) {
      const Type& type = program.type(v);
      if (type.kind == Kind::vector && type.bytes.at({}) > bytes.at({})) bytes = type.bytes;
    }
  }
  if (bytes == Length{}) bytes = isa.vector_bytes;
  for (const Row& row : isa.rows) {
    if (row.means.size() != 1 || row.c.empty()) continue;
    const MeansNode& node = row.means.front();
    const Length row_bytes = row.bytes == Length{} ? isa.vector_bytes : row.bytes;
    const bool same_number = !node.imm_name.empty() || node.imm == op.imm;
    if (node.code == op.code && node.bits == op.bits && row_bytes == bytes && same_number) {
      return row;
    }
  }
  throw std::runtime_error(fmt::format(
      "{}: no row with C text for {}{} (needed by {})", to_string(isa.where), info(op.code).name,
      op.bits > 0 ? fmt::format(".{}", op.bits) : "", program.name));
}

bool is_plain_c(OpCode code) {
  const OpInfo& about = info(code);
  if (code == OpCode::copy || code == OpCode::store_i64 || code == OpCode::frame_store) return true;
  if (about.result != 's') return false;
  return about.args.find_first_not_of('s') == std::string_view::npos;
}

std::string c_class(const Row& row, const Operand& operand) {
  if (!operand.c_type.empty()) return operand.c_type;
  return operand.kind == Kind::predicate ? "k" : row.c_type;
}

CValues plan_c_values(const Program& program) {
  CValues values;
  values.form.assign(program.values.size(), CForm::variable);
  values.variable.assign(program.values.size(), -1);
  values.scalar.assign(program.values.size(), CScalar::size);
  values.definition.assign(program.values.size(), nullptr);
  choose_forms(program, values);
  find_scalar_types(program, values);

  std::vector<bool> in_place(program.values.size());
  for (size_t v = 0; v < in_place.size(); ++v) in_place[v] = values.form[v] == CForm::in_place;
  const Lives lives = find_lives(program, in_place, values.definition);
  const Votes votes = count_votes(program, values);

  for (const std::vector<Value>& set : share_variables(program, values, votes, lives)) {
    if (set.empty() || values.form[at(set[0])] != CForm::variable) continue;
    CVariable variable;
    // A single definition is a constant, except a parameter, which the back edge writes again.
    variable.is_constant = set.size() == 1 && lives.of[at(set[0])].size() == 1;
    std::map<std::string, int64_t> all;
    for (Value v : set) {
      values.variable[at(v)] = static_cast<int>(values.variables.size());
      if (variable.hint.empty()) variable.hint = program.values[at(v)].name;
      for (const auto& [type_class, count] : votes[at(v)]) all[type_class] += count;
    }
    name_type(program, set[0], elected(all), values, variable);
    values.variables.push_back(std::move(variable));
  }
  name_cursors(program, values);
  return values;
}

}  // namespace tw
