#include "emit/c_values.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <numeric>
#include <stdexcept>

#include "emit/c_lives.h"
#include "emit/c_text.h"

namespace tw {
namespace {

size_t at(Value v) { return static_cast<size_t>(v); }

/// Calls on_op, on_loop(loop, true) before and (loop, false) after its body, on_if; in order.
struct Visitor {
  std::function<void(const Op&, const Region&)> op = [](const Op&, const Region&) {};
  std::function<void(const Loop&, const Region&)> loop = [](const Loop&, const Region&) {};
  std::function<void(const If&, const Region&)> branch = [](const If&, const Region&) {};
  void visit(const Region& region) const {
    for (const Node& node : region.nodes) {
      if (const auto* o = std::get_if<Op>(&node)) {
        op(*o, region);
      } else if (const auto* l = std::get_if<std::unique_ptr<Loop>>(&node)) {
        loop(**l, region);
        visit((*l)->body);
      } else {
        const If& i = *std::get<std::unique_ptr<If>>(node);
        branch(i, region);
        visit(i.then_body);
        visit(i.else_body);
      }
    }
  }
};

bool has_effect(const Op& op) { return op.results.empty() || info(op.code).result == '-'; }

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

/// Uses of each value: how many, and where the only one is.
struct Use {
  int count = 0;
  const Region* region = nullptr;
  bool by_header = false;   ///< as a next or initial value, or in a condition
  bool is_test = false;     ///< as what if_null tests
  bool is_count = false;    ///< as a loop's count, which is read in every iteration
};

std::vector<Use> count_uses(const Program& program) {
  std::vector<Use> uses(program.values.size());
  auto use = [&](Value v, const Region* region, bool by_header) {
    uses[at(v)] = {uses[at(v)].count + 1, region, by_header, false, uses[at(v)].is_count};
  };
  Visitor visitor;
  visitor.op = [&](const Op& op, const Region& region) {
    for (Value arg : op.args) use(arg, &region, false);
    if (op.code == OpCode::if_null) uses[at(op.args[0])].is_test = true;
  };
  visitor.loop = [&](const Loop& loop, const Region& region) {
    use(loop.count, &region, false);
    uses[at(loop.count)].is_count = true;
    for (Value init : loop.inits) use(init, &region, true);
    for (Value yield : loop.yields) use(yield, &loop.body, true);
  };
  visitor.branch = [&](const If& branch, const Region& region) {
    use(branch.a, &region, true);
    use(branch.b, &region, true);
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

void choose_forms(const Program& program, CValues& values) {
  std::vector<Use> uses = count_uses(program);
  find_unused(program, uses, values);
  Visitor visitor;
  visitor.op = [&](const Op& op, const Region& region) {
    if (has_effect(op)) return;
    const Value v = op.results[0];
    values.definition[at(v)] = &op;
    if (values.form[at(v)] == CForm::unused) return;
    const Use& use = uses[at(v)];
    const bool once_nearby = use.count == 1 && use.region == &region && !use.is_count;
    const bool anonymous = program.values[at(v)].name.empty() || use.by_header;
    if (op.code == OpCode::constant || op.code == OpCode::length ||
        (op.code == OpCode::arg && once_nearby) ||
        (op.code == OpCode::isub_sat && once_nearby && use.is_test) ||
        (may_stand_in_place(op.code) && once_nearby && anonymous)) {
      values.form[at(v)] = CForm::in_place;
    }
  };
  visitor.visit(program.body);
}

bool is_pointer(CScalar type) {
  return type == CScalar::pointer || type == CScalar::const_pointer;
}

CScalar join(CScalar a, CScalar b) {
  if (a == b) return a;
  if (is_pointer(a) && is_pointer(b)) return CScalar::const_pointer;
  if (is_pointer(a)) return a;
  if (is_pointer(b)) return b;
  return CScalar::bits64;
}

CScalar type_of_field(ArgField field) {
  switch (field) {
    case ArgField::lhs:
    case ArgField::lhs_rows:
    case ArgField::lhs_zero:
    case ArgField::rhs:
    case ArgField::bias:
    case ArgField::clamp:
    case ArgField::output_zero:
    case ArgField::lookup:
      return CScalar::const_pointer;
    case ArgField::dst:
      return CScalar::pointer;
    case ArgField::flags:
      return CScalar::bits64;
    default:
      return CScalar::size;
  }
}

CScalar scalar_result(const Op& op, const CValues& values) {
  auto type = [&](size_t i) { return values.scalar[at(op.args[i])]; };
  switch (op.code) {
    case OpCode::arg:
      return type_of_field(static_cast<ArgField>(op.imm));
    case OpCode::iadd:
    case OpCode::imin:
      return join(type(0), type(1));
    case OpCode::isub:
      return is_pointer(type(1)) ? CScalar::size : type(0);
    case OpCode::if_null:
      return join(type(1), type(2));
    case OpCode::iadd_imm:
    case OpCode::icopy:
      return type(0);
    case OpCode::low_bits:
    case OpCode::load_i64:
      return CScalar::bits64;
    case OpCode::frame_load:
      return values.slots[static_cast<size_t>(op.imm)];
    case OpCode::ishl:
    case OpCode::ishr:
    case OpCode::iand_imm:
      return type(0) == CScalar::bits64 ? CScalar::bits64 : CScalar::size;
    default:
      return CScalar::size;
  }
}

/// Pointers spread from the argument struct through address arithmetic and around loops.
void find_scalar_types(const Program& program, CValues& values) {
  values.slots.assign(static_cast<size_t>(program.frame_slots), CScalar::size);
  bool changed = true;
  auto set = [&](CScalar& type, CScalar wanted) {
    changed = changed || type != wanted;
    type = wanted;
  };
  Visitor visitor;
  visitor.op = [&](const Op& op, const Region&) {
    if (op.code == OpCode::frame_store) {
      set(values.slots[static_cast<size_t>(op.imm)], values.scalar[at(op.args[0])]);
    }
    if (has_effect(op) || program.type(op.results[0]).kind != Kind::scalar) return;
    set(values.scalar[at(op.results[0])], scalar_result(op, values));
  };
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) {
      set(values.scalar[at(loop.params[i])],
          join(values.scalar[at(loop.inits[i])], values.scalar[at(loop.yields[i])]));
      set(values.scalar[at(loop.results[i])], values.scalar[at(loop.params[i])]);
    }
  };
  // Types only move towards pointers; two rounds do for most Programs.
  for (int round = 0; changed && round < 16; ++round) {
    changed = false;
    visitor.visit(program.body);
  }
}

/// Sets of values that share a variable.
class Sharing {
 public:
  Sharing(const Program& program, const CValues& values, const Lives& lives)
      : program_(program), values_(values), lives_(lives), set_(program.values.size()) {
    std::iota(set_.begin(), set_.end(), 0);
    members_.resize(program.values.size());
    for (size_t v = 0; v < members_.size(); ++v) members_[v] = {static_cast<Value>(v)};
  }

  void merge(Value a, Value b) {
    if (values_.form[at(a)] != CForm::variable || values_.form[at(b)] != CForm::variable) return;
    if (a == program_.args || b == program_.args) return;
    if (!(program_.type(a) == program_.type(b))) return;
    if (program_.type(a).kind == Kind::scalar &&
        values_.scalar[at(a)] != values_.scalar[at(b)]) {
      return;
    }
    const int x = set_[at(a)];
    const int y = set_[at(b)];
    if (x == y || overlap(members_[at(x)], members_[at(y)])) return;
    std::vector<Value> all = members_[at(x)];
    all.insert(all.end(), members_[at(y)].begin(), members_[at(y)].end());
    if (!one_declaration(all)) return;
    for (Value v : all) set_[at(v)] = x;
    members_[at(x)] = std::move(all);
    members_[at(y)].clear();
  }

  [[nodiscard]] const std::vector<std::vector<Value>>& sets() const { return members_; }

 private:
  [[nodiscard]] bool overlap(const std::vector<Value>& a, const std::vector<Value>& b) const {
    for (Value v : a) {
      for (Value w : b) {
        for (const Life& x : lives_.of[at(v)]) {
          for (const Life& y : lives_.of[at(w)]) {
            if (x.begin < y.end && y.begin < x.end) return true;
          }
        }
      }
    }
    return false;
  }

  /// The first of them is declared where all others can see it.
  [[nodiscard]] bool one_declaration(const std::vector<Value>& all) const {
    const Value first = *std::min_element(all.begin(), all.end(), [&](Value a, Value b) {
      return lives_.of[at(a)][0].begin < lives_.of[at(b)][0].begin;
    });
    const int home = lives_.region[at(first)];
    return std::all_of(all.begin(), all.end(), [&](Value v) {
      int region = lives_.region[at(v)];
      while (region != -1 && region != home) region = lives_.parents[at(region)];
      return region == home;
    });
  }

  const Program& program_;
  const CValues& values_;
  const Lives& lives_;
  std::vector<int> set_;
  std::vector<std::vector<Value>> members_;
};

/// The argument that shares the result's register, or -1.
Value tied_argument(const Program& program, const Op& op) {
  if (is_plain_c(op.code) || op.results.empty()) return no_value;
  const Row& row = c_row(program, op);
  size_t argument = 0;
  std::string tied;
  for (const Operand& operand : row.operands) {
    if (operand.is_result) tied = operand.tied;
  }
  for (const Operand& operand : row.operands) {
    if (operand.is_result) continue;
    if (!tied.empty() && operand.name == tied) return op.args[argument];
    ++argument;
  }
  return no_value;
}

void share(const Program& program, Sharing& sharing) {
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.params[i], loop.results[i]);
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.params[i], loop.yields[i]);
  };
  visitor.visit(program.body);
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.inits[i], loop.params[i]);
  };
  visitor.op = [&](const Op& op, const Region&) {
    const Value argument = tied_argument(program, op);
    if (argument != no_value) sharing.merge(argument, op.results[0]);
  };
  visitor.visit(program.body);
}

/// Votes for a variable's class: the operations that make and use it, the inner ones counting more.
using Votes = std::vector<std::map<std::string, int64_t>>;

Votes count_votes(const Program& program, const CValues& values) {
  Votes votes(values.variables.size());
  std::map<const Region*, int64_t> weights{{&program.body, 1}};
  auto vote = [&](Value v, const std::string& type_class, int64_t weight) {
    const int variable = values.variable[at(v)];
    if (variable >= 0) votes[static_cast<size_t>(variable)][type_class] += weight;
  };
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region& region) {
    weights[&loop.body] = weights[&region] * 8;
  };
  visitor.branch = [&](const If& branch, const Region& region) {
    weights[&branch.then_body] = weights[&branch.else_body] = weights[&region];
  };
  visitor.op = [&](const Op& op, const Region& region) {
    if (is_plain_c(op.code)) return;
    if (!op.results.empty() && values.form[at(op.results[0])] == CForm::unused) return;
    const Row& row = c_row(program, op);
    size_t argument = 0;
    for (const Operand& operand : row.operands) {
      const Value v = operand.is_result ? op.results[0] : op.args[argument++];
      // Its own operation decides when the uses do not agree.
      if (operand.kind != Kind::scalar) {
        vote(v, c_class(row, operand), 2 * weights[&region] + (operand.is_result ? 1 : 0));
      }
    }
  };
  visitor.visit(program.body);
  return votes;
}

void name_types(const Program& program, const std::vector<Value>& representative,
                const Votes& votes, CValues& values) {
  for (size_t i = 0; i < values.variables.size(); ++i) {
    CVariable& variable = values.variables[i];
    const Value v = representative[i];
    if (program.type(v).kind == Kind::scalar) {
      variable.type = c_scalar_type(values.scalar[at(v)]);
      continue;
    }
    const auto best = std::max_element(
        votes[i].begin(), votes[i].end(),
        [](const auto& a, const auto& b) { return a.second < b.second; });
    if (best == votes[i].end()) {
      throw std::runtime_error(
          fmt::format("{}: nothing tells the C type of a value", program.name));
    }
    variable.type_class = best->first;
    const auto type = program.isa->c_types.find(best->first);
    if (type == program.isa->c_types.end()) {
      throw std::runtime_error(fmt::format("{}: c: types: has no class '{}'",
                                           to_string(program.isa->where), best->first));
    }
    variable.type = type->second;
  }
}

}  // namespace

const Row& c_row(const Program& program, const Op& op) {
  const Isa& isa = *program.isa;
  std::vector<Length> lengths;
  for (Value v : op.args) {
    if (program.type(v).kind == Kind::vector) lengths.push_back(program.type(v).bytes);
  }
  for (Value v : op.results) {
    if (program.type(v).kind == Kind::vector) lengths.push_back(program.type(v).bytes);
  }
  lengths.emplace_back();
  for (const Length& bytes : lengths) {
    const Row* row = isa.row_for(op.code, op.bits, bytes);
    if (row != nullptr && !row->c.empty()) return *row;
  }
  throw std::runtime_error(
      fmt::format("{}: no row with C text for {}{} (needed by {})", to_string(isa.where),
                  info(op.code).name, op.bits > 0 ? fmt::format(".{}", op.bits) : "",
                  program.name));
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
  Sharing sharing(program, values, lives);
  share(program, sharing);

  std::vector<Value> representative;
  for (const std::vector<Value>& set : sharing.sets()) {
    if (set.empty() || values.form[at(set[0])] != CForm::variable) continue;
    CVariable variable;
    // A single definition is a constant, except a parameter, which the back edge writes again.
    variable.is_constant = set.size() == 1 && lives.of[at(set[0])].size() == 1;
    for (Value v : set) {
      values.variable[at(v)] = static_cast<int>(values.variables.size());
      if (variable.hint.empty()) variable.hint = program.values[at(v)].name;
    }
    representative.push_back(set[0]);
    values.variables.push_back(std::move(variable));
  }
  name_types(program, representative, count_votes(program, values), values);
  return values;
}

}  // namespace tw
