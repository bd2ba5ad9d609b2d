#include "emit/c_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>
#include <unordered_map>
#include <utility>

#include "emit/c_in_place.h"
#include "emit/c_text.h"
#include "emit/c_types.h"
#include "emit/visitor.h"
#include "ir/typing.h"
#include "schedule/coalesce.h"
#include "schedule/rows.h"

namespace tw {
namespace {

/// Sets of values that share a variable.
class Sharing {
 public:
  Sharing(const Program& program, const CValues& values)
      : program_(program),
        values_(values),
        sets_(liveness(program, values.in_place).of),
        home_(program.values.size(), &program.body) {
    Visitor visitor;
    visitor.op = [&](const Op& op, const Region& region) {
      for (Value v : op.results) home_[at(v)] = &region;
    };
    visitor.loop = [&](const Loop& loop, const Region& region) {
      outer_[&loop.body] = &region;
      for (Value v : loop.params) home_[at(v)] = &region;
      for (Value v : loop.results) home_[at(v)] = &region;
    };
    visitor.branch = [&](const If& branch, const Region& region) {
      outer_[&branch.then_body] = outer_[&branch.else_body] = &region;
    };
    visitor.visit(program.body);
  }

  [[nodiscard]] int set_of(Value v) const { return sets_.set_of(v); }
  [[nodiscard]] bool is_variable(Value v) const {
    return v != program_.args && !sets_.live(set_of(v)).empty();
  }

  void join(Value a, Value b) {
    if (!may_share(a, b)) return;
    // The one that lives first is declared, where the other can see it.
    const int x = set_of(a);
    const int y = set_of(b);
    const bool in_order = sets_.live(x).front().begin <= sets_.live(y).front().begin;
    const Region* home = home_[at(in_order ? x : y)];
    if (is_inside(home_[at(in_order ? y : x)], home) && sets_.join(a, b)) home_[at(x)] = home;
  }

 private:
  [[nodiscard]] bool may_share(Value a, Value b) const {
    return is_variable(a) && is_variable(b) && program_.type(a) == program_.type(b) &&
           values_.scalar[at(a)] == values_.scalar[at(b)];
  }

  [[nodiscard]] bool is_inside(const Region* region, const Region* home) const {
    while (region != home && region != &program_.body) region = outer_.at(region);
    return region == home;
  }

  const Program& program_;
  const CValues& values_;
  Coalescing sets_;
  std::vector<const Region*> home_;  ///< per set: where its variable is declared
  std::unordered_map<const Region*, const Region*> outer_;
};

/// Loops keep what they carry in one variable; accumulators grow in place; values of one name and
/// type that follow one another (an unrolled loop's loads) take turns in one variable.
void coalesce(const Program& program, const CValues& values,
              const std::vector<ClassCounts>& classes, Sharing& sharing) {
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.join(loop.params[i], loop.results[i]);
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.join(loop.params[i], loop.yields[i]);
  };
  visitor.visit(program.body);
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.join(loop.inits[i], loop.params[i]);
  };
  auto is_accumulator = [&](Value v) { return program.values[at(v)].role == Role::accumulator; };
  std::map<std::pair<const Region*, std::string>, std::vector<Value>> named;
  visitor.op = [&](const Op& op, const Region& region) {
    if (op.results.empty() || values.in_place[at(op.results[0])] != nullptr) return;
    const Value result = op.results[0];
    for (Value arg : op.args) {
      if (is_accumulator(arg) && is_accumulator(result)) sharing.join(arg, result);
    }
    const std::string& hint = program.values[at(result)].name;
    if (hint.empty()) return;
    std::vector<Value>& earlier = named[{&region, hint}];
    for (Value other : earlier) {
      if (commonest(classes[at(other)]) == commonest(classes[at(result)])) {
        sharing.join(other, result);
      }
    }
    const bool alone = std::none_of(earlier.begin(), earlier.end(), [&](Value other) {
      return sharing.set_of(other) == sharing.set_of(result);
    });
    if (alone) earlier.push_back(result);
  };
  visitor.visit(program.body);
}

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

/// The back edge writes what a loop carries; a pointer that starts where another one stays gets a
/// name that says so.
void finish_carried(const Program& program, CValues& values) {
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) {
      const int from = values.variable[at(loop.inits[i])];
      const int to = values.variable[at(loop.params[i])];
      CVariable& cursor = values.variables[static_cast<size_t>(to)];
      cursor.is_constant = false;
      if (from < 0 || from == to || program.type(loop.params[i]).kind != Kind::scalar) continue;
      if (cursor.hint == values.variables[static_cast<size_t>(from)].hint) cursor.hint += "_at";
    }
  };
  visitor.visit(program.body);
}

}  // namespace

const Row& c_row(const Program& program, const Op& op) {
  const auto fits_all = [&](const Row& row) {
    size_t result = 0, argument = 0;
    return std::all_of(row.operands.begin(), row.operands.end(), [&](const Operand& operand) {
      const Value v = operand.is_result ? op.results[result++] : op.args[argument++];
      return fits(*program.isa, operand, program.type(v));
    });
  };
  const Row* row =
      program.isa->row_for(op.code, op.bits, vector_bytes(program, op), [&](const Row& it) {
        const MeansNode& node = it.means.front();
        return !it.c.empty() && (!node.imm_name.empty() || node.imm == op.imm) && fits_all(it);
      });
  if (row != nullptr) return *row;
  throw std::runtime_error(fmt::format(
      "{}: no row with C text for {}{} (needed by {})", to_string(program.isa->where),
      info(op.code).name, op.bits > 0 ? fmt::format(".{}", op.bits) : "", program.name));
}

bool is_plain_c(OpCode code) {
  const OpInfo& about = info(code);
  if (code == OpCode::copy) return true;
  if (about.result != 's' && (about.result != '-' || about.args.empty() || prefetches(code))) {
    return false;
  }
  return about.args.find_first_not_of('s') == std::string_view::npos;
}

std::string c_class(const Row& row, const Operand& operand) {
  if (!operand.c_type.empty()) return operand.c_type;
  return operand.kind == Kind::predicate ? "k" : row.c_type;
}

CValues plan_c_values(const Program& program) {
  CValues values;
  values.in_place = choose_in_place(program);
  values.variable.assign(program.values.size(), -1);
  values.scalar.assign(program.values.size(), CScalar::size);
  find_scalar_types(program, values);
  const std::vector<ClassCounts> classes = count_classes(program);
  Sharing sharing(program, values);
  coalesce(program, values, classes, sharing);

  std::map<int, std::vector<Value>> sets;
  for (size_t i = 0; i < program.values.size(); ++i) {
    const auto v = static_cast<Value>(i);
    if (sharing.is_variable(v)) sets[sharing.set_of(v)].push_back(v);
  }
  for (const auto& [number, set] : sets) {
    CVariable variable;
    variable.is_constant = set.size() == 1;
    ClassCounts all;
    for (Value v : set) {
      values.variable[at(v)] = static_cast<int>(values.variables.size());
      if (variable.hint.empty()) variable.hint = program.values[at(v)].name;
      for (const auto& [type_class, count] : classes[at(v)]) all[type_class] += count;
    }
    name_type(program, set[0], commonest(all), values, variable);
    values.variables.push_back(std::move(variable));
  }
  finish_carried(program, values);
  return values;
}

}  // namespace tw
