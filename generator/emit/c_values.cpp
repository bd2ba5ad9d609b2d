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

size_t at(Value v) {
  return static_cast<size_t>(v);
}

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
    if (program_.type(a).kind == Kind::scalar && values_.scalar[at(a)] != values_.scalar[at(b)]) {
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

  /// The set of `v`, by number.
  [[nodiscard]] int set_of(Value v) const { return set_[at(v)]; }
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

/// Votes for a value's C type class: the operations that make and use it, inner ones count more.
using Votes = std::vector<std::map<std::string, int64_t>>;

Votes count_votes(const Program& program, const CValues& values) {
  Votes votes(program.values.size());
  std::map<const Region*, int64_t> weights{{&program.body, 1}};
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
    const bool computes = info(op.code).args.find('v') != std::string_view::npos;
    size_t argument = 0;
    for (const Operand& operand : row.operands) {
      const Value v = operand.is_result ? op.results[0] : op.args[argument++];
      if (operand.kind == Kind::scalar) continue;
      // When votes are equal, what computes a value decides; what loads it follows its use.
      const int64_t bonus = !operand.is_result ? 0 : computes ? 1 : -1;
      votes[at(v)][c_class(row, operand)] += 2 * weights[&region] + bonus;
    }
  };
  visitor.visit(program.body);
  return votes;
}

std::string elected(const std::map<std::string, int64_t>& votes) {
  const auto best = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == votes.end() ? "" : best->first;
}

/// Loops keep what they carry in one variable; accumulators grow in place; values of one name that
/// follow one another (an unrolled loop's loads) take turns in one variable.
void share(const Program& program, const CValues& values, const Votes& votes, Sharing& sharing) {
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.params[i], loop.results[i]);
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.params[i], loop.yields[i]);
  };
  visitor.visit(program.body);
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) sharing.merge(loop.inits[i], loop.params[i]);
  };
  auto is_accumulator = [&](Value v) { return program.values[at(v)].role == Role::accumulator; };
  std::map<std::pair<const Region*, std::string>, std::vector<Value>> named;
  visitor.op = [&](const Op& op, const Region& region) {
    if (has_effect(op)) return;
    const Value result = op.results[0];
    for (Value arg : op.args) {
      if (is_accumulator(arg) && is_accumulator(result)) sharing.merge(arg, result);
    }
    const std::string& hint = program.values[at(result)].name;
    if (hint.empty() || values.form[at(result)] != CForm::variable) return;
    std::vector<Value>& earlier = named[{&region, hint}];
    for (Value other : earlier) {
      if (elected(votes[at(other)]) == elected(votes[at(result)])) sharing.merge(other, result);
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
  // The vectors' length: what is read decides, then what is made, then the ISA.
  Length bytes = isa.vector_bytes;
  for (const std::vector<Value>* list : {&op.args, &op.results}) {
    const auto vector = std::find_if(list->begin(), list->end(),
                                     [&](Value v) { return program.type(v).kind == Kind::vector; });
    if (vector == list->end()) continue;
    bytes = program.type(*vector).bytes;
    break;
  }
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
  Sharing sharing(program, values, lives);
  share(program, values, votes, sharing);

  for (const std::vector<Value>& set : sharing.sets()) {
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
