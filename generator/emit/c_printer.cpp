#include "emit/c_printer.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <stdexcept>
#include <vector>

#include "emit/c_expression.h"
#include "emit/c_text.h"
#include "emit/c_types.h"
#include "emit/c_values.h"
#include "model/row_text.h"
#include "schedule/insert.h"

namespace tw {
namespace {

/// A value that a variable gets where several change at once (a loop's edge).
struct Assignment {
  int variable;
  Expression value;
  std::vector<int> reads;
};

class Printer {
 public:
  explicit Printer(const Program& program)
      : program_(program),
        values_(plan_c_values(program)),
        names_(values_.variables.size()),
        expressions_(program, values_, names_) {
    scopes_.push_back({{"args", "scratch_memory"}, {}});
  }

  std::string body() {
    for (size_t i = 0; i < values_.slots.size(); ++i) {
      line(fmt::format("{} slot_{} = 0;", c_scalar_type(values_.slots[i]), i));
    }
    if (program_.scratch_bytes > 0) {
      const bool aligned = !program_.isa->rules.align_address.empty();
      line(fmt::format("{}uint8_t scratch_memory[{}];",
                       aligned ? fmt::format("TW_ALIGNAS({}) ", scratch_alignment) : "",
                       program_.scratch_bytes));
    }
    print(program_.body);
    return std::move(text_);
  }

 private:
  // Text.

  void line(const std::string& content) { text_ += wrap_c_line(content, depth_); }

  void open(const std::string& head) {
    line(head + " {");
    ++depth_;
    scopes_.emplace_back();
  }
  void close(const std::string& tail = "}") {
    scopes_.pop_back();
    --depth_;
    line(tail);
  }

  /// `hint`, with a number where an enclosing scope has the name already.
  std::string fresh_name(const std::string& hint) {
    const std::string base = c_identifier(hint);
    int number = 1;
    for (const Scope& scope : scopes_) {
      const auto last = scope.last.find(base);
      if (last != scope.last.end()) number = last->second;
    }
    std::string found = number == 1 ? base : fmt::format("{}_{}", base, number);
    while (is_taken(found)) found = fmt::format("{}_{}", base, ++number);
    scopes_.back().names.insert(found);
    scopes_.back().last[base] = number;
    return found;
  }
  [[nodiscard]] bool is_taken(const std::string& candidate) const {
    return std::any_of(scopes_.begin(), scopes_.end(),
                       [&](const Scope& scope) { return scope.names.count(candidate) > 0; });
  }

  // Values.

  [[nodiscard]] int variable_of(Value v) const { return values_.variable[at(v)]; }
  [[nodiscard]] const CVariable& variable(int index) const {
    return values_.variables[static_cast<size_t>(index)];
  }
  [[nodiscard]] std::string& name_of(int index) { return names_[static_cast<size_t>(index)]; }

  /// `value`, which has a vector's type class, as what the other variable holds.
  [[nodiscard]] Expression cast(const Expression& value, const std::string& from, int to) const {
    return c_cast(*program_.isa, value, from, variable(to).type_class);
  }

  /// Gives a variable a value; declares it the first time.
  void assign(int index, const Expression& value) {
    std::string& found = name_of(index);
    if (!found.empty()) {
      if (to_text(value) != found) line(assignment(found, value) + ";");
      return;
    }
    const CVariable& about = variable(index);
    found = fresh_name(about.hint.empty() ? (about.type_class.empty() ? "s" : "v") : about.hint);
    line(fmt::format("{} = {};", declaration(about, found), to_text(value)));
  }

  static std::string declaration(const CVariable& about, const std::string& variable_name) {
    const bool is_pointer = about.type.back() == '*';
    if (!about.is_constant) return about.type + " " + variable_name;
    return is_pointer ? about.type + " const " + variable_name
                      : "const " + about.type + " " + variable_name;
  }

  // Operations.

  void print(const Op& op) {
    const bool has_result = !op.results.empty();
    if (has_result && values_.in_place[at(op.results[0])] != nullptr) return;
    if (is_plain_c(op.code)) return print_plain(op);
    const Row& row = c_row(program_, op);
    if (!has_result) return line(row_text(row, op) + ";");
    const int index = variable_of(op.results[0]);
    const Operand& result = row.operands.front();
    if (mentions(row.c, result.name)) return print_statement(row, op, index);
    assign(index, cast({row_text(row, op)}, c_class(row, result), index));
    keep_as_written(op.results[0]);
  }

  void keep_as_written(Value sum) {
    const Isa& isa = *program_.isa;
    if (!in_hot_loop_ || isa.c_keep.empty()) return;
    if (program_.values[at(sum)].role != Role::accumulator) return;
    if (variable(variable_of(sum)).is_constant) return;  // nothing grows in it
    line(fill_in(isa.c_keep, {{"x", {name_of(variable_of(sum))}}}));
  }

  void print_plain(const Op& op) {
    switch (op.code) {
      case OpCode::store_i64: {
        std::string x = to_text(expressions_.value(op.args[1]));
        if (is_pointer(values_.scalar[at(op.args[1])])) x = "(uint64_t)(uintptr_t)(" + x + ")";
        line("{");
        line(fmt::format("  const uint64_t x = {};", x));
        line(fmt::format("  memcpy({}, &x, sizeof(x));", to_text(expressions_.address(op))));
        line("}");
        return;
      }
      case OpCode::store_scalar:
        return line(expressions_.store(op) + ";");
      case OpCode::copy_bytes:
      case OpCode::fill_bytes: {
        const std::string bytes = to_text(expressions_.value(op.args[2]));
        constexpr int64_t inlined = 64;  // bytes that gcc copies without a loop
        const bool known = bytes.find_first_not_of("0123456789") == std::string::npos;
        const char* copy = known || (op.imm > 0 && op.imm <= inlined) ? "memcpy" : "tw_copy";
        return line(fmt::format("{}({}, {}, {});", op.code == OpCode::copy_bytes ? copy : "memset",
                                to_text(expressions_.value(op.args[0])),
                                to_text(expressions_.value(op.args[1])), bytes));
      }
      case OpCode::frame_store:
        return line(fmt::format("slot_{} = {};", op.imm, to_text(expressions_.value(op.args[0]))));
      case OpCode::load_i64:
      case OpCode::load_pointer: {
        const int index = variable_of(op.results[0]);
        declare_only(index);
        return line(fmt::format("memcpy(&{0}, {1}, sizeof({0}));", name_of(index),
                                to_text(expressions_.address(op))));
      }
      case OpCode::copy: {
        const int from = variable_of(op.args[0]);
        const int to = variable_of(op.results[0]);
        return assign(to, cast({name_of(from)}, variable(from).type_class, to));
      }
      default:
        assign(variable_of(op.results[0]), expressions_.operation(op));
    }
  }

  void declare_only(int index) {
    std::string& found = name_of(index);
    if (!found.empty()) return;
    const CVariable& about = variable(index);
    found = fresh_name(about.hint.empty() ? "v" : about.hint);
    line(fmt::format("{} {};", about.type, found));
  }

  /// A row whose C text is a statement that sets {d}.
  void print_statement(const Row& row, const Op& op, int index) {
    declare_only(index);
    const Operand& result = row.operands.front();
    if (c_class(row, result) != variable(index).type_class && result.kind != Kind::scalar) {
      throw std::runtime_error(fmt::format("{}: C text of {} sets {{{}}}, which cannot be cast",
                                           to_string(row.where), row.name, result.name));
    }
    line(row_text(row, op) + ";");
  }

  static bool mentions(const std::string& text, const std::string& name) {
    const std::vector<Placeholder> found = placeholders(text);
    return std::any_of(found.begin(), found.end(),
                       [&](const Placeholder& p) { return p.name == name; });
  }

  std::string row_text(const Row& row, const Op& op) {
    std::map<std::string, Expression> expressions;
    size_t result = 0;
    size_t argument = 0;
    for (const Operand& operand : row.operands) {
      expressions[operand.name] = operand.is_result
                                      ? Expression{name_of(variable_of(op.results[result++]))}
                                      : argument_of(row, operand, op.args[argument++]);
    }
    const MeansNode& node = row.means.front();
    if (reads_memory(op.code) || writes_memory(op.code) || prefetches(op.code)) {
      expressions["at"] = expressions_.address(op);
    }
    auto number = [&](const std::string& immediate, int64_t value) {
      if (!immediate.empty()) expressions[immediate] = {std::to_string(value)};
    };
    number(node.imm_name, op.imm - node.imm);
    number(node.offset_name, op.offset.fixed - node.offset.fixed);
    std::string text = fill_in(row.c, expressions);
    while (!text.empty() && (text.back() == ';' || text.back() == ' ')) text.pop_back();
    return text;
  }

  Expression argument_of(const Row& row, const Operand& operand, Value v) {
    const Expression value = expressions_.value(v);
    if (operand.kind == Kind::scalar) return value;
    return c_cast(*program_.isa, value, variable(variable_of(v)).type_class, c_class(row, operand));
  }

  // Control flow.

  void print(const Region& region) {
    for (const Node& node : region.nodes) {
      if (const auto* op = std::get_if<Op>(&node)) {
        print(*op);
      } else if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
        print(**loop);
      } else {
        print(*std::get<std::unique_ptr<If>>(node));
      }
    }
  }

  void print(const Loop& loop) {
    assign_all(loop.params, loop.inits);
    if (!loop.step.is_fixed()) {
      throw std::runtime_error(fmt::format("{}: a loop steps by {}, which C does not know",
                                           program_.name, to_string(loop.step)));
    }
    const std::string count = to_text(expressions_.value(loop.count), Binding::sum);
    line(comment_of(loop));
    scopes_.emplace_back();
    const std::string i = fresh_name("i_" + (loop.label.empty() ? "loop" : loop.label));
    open(fmt::format(
        "for (size_t {0} = 0; {0} < {1}; {2})", i, count,
        loop.step == Length(1) ? "++" + i : fmt::format("{} += {}", i, loop.step.fixed)));
    in_hot_loop_ = loop.hot;
    print(loop.body);
    in_hot_loop_ = false;
    assign_all(loop.params, loop.yields);
    close();
    scopes_.pop_back();
    for (size_t p = 0; p < loop.params.size(); ++p) {
      const int from = variable_of(loop.params[p]);
      const int to = variable_of(loop.results[p]);
      if (from != to) throw std::logic_error(program_.name + ": a loop's result has moved");
    }
  }

  static std::string comment_of(const Loop& loop) {
    if (loop.macs > 0) {
      return fmt::format("// {} loop: {} multiply-accumulates per iteration", loop.label,
                         loop.macs);
    }
    if (loop.step == Length(1)) return fmt::format("// {} loop", loop.label);
    return fmt::format("// {} loop: {} per iteration", loop.label, to_string(loop.step));
  }

  void print(const If& branch) {
    auto text = [&](Value v) { return to_text(expressions_.value(v), Binding::sum); };
    const char* compare = branch.compare == Compare::equal       ? "=="
                          : branch.compare == Compare::not_equal ? "!="
                          : branch.compare == Compare::below     ? "<"
                                                                 : ">=";
    open(fmt::format("if ({} {} {})", text(branch.a), compare, text(branch.b)));
    print(branch.then_body);
    if (!branch.else_body.nodes.empty()) {
      close("} else {");
      ++depth_;
      scopes_.emplace_back();
      print(branch.else_body);
    }
    close();
  }

  /// targets[i] = sources[i], all at once: as if every source were read before any target changes.
  void assign_all(const std::vector<Value>& targets, const std::vector<Value>& sources) {
    std::vector<Assignment> pending;
    for (size_t i = 0; i < targets.size(); ++i) {
      const int to = variable_of(targets[i]);
      if (variable_of(sources[i]) == to) continue;
      Assignment next{to, expressions_.value(sources[i]), {}};
      expressions_.collect_reads(sources[i], next.reads);
      const int from = variable_of(sources[i]);
      if (from >= 0) next.value = cast(next.value, variable(from).type_class, to);
      pending.push_back(std::move(next));
    }
    while (!pending.empty()) {
      auto ready = std::find_if(pending.begin(), pending.end(), [&](const Assignment& candidate) {
        return std::none_of(pending.begin(), pending.end(), [&](const Assignment& other) {
          return &other != &candidate && contains(other.reads, candidate.variable);
        });
      });
      if (ready != pending.end()) {
        assign(ready->variable, ready->value);
        pending.erase(ready);
        continue;
      }
      // A cycle: keep the next value of one of them aside.
      Assignment& kept = pending.front();
      const CVariable& about = variable(kept.variable);
      const std::string next = fresh_name("next_" + name_of(kept.variable));
      line(fmt::format("{} {} = {};", about.type, next, to_text(kept.value)));
      kept.value = {next};
      kept.reads.clear();
    }
  }

  static bool contains(const std::vector<int>& list, int wanted) {
    return std::find(list.begin(), list.end(), wanted) != list.end();
  }

  const Program& program_;
  CValues values_;
  CNames names_;
  CExpressions expressions_;
  struct Scope {
    std::set<std::string> names;
    std::map<std::string, int> last;  ///< number of a name without it: lower ones are taken
  };
  std::vector<Scope> scopes_;
  std::string text_;
  int depth_ = 1;
  bool in_hot_loop_ = false;
};

}  // namespace

std::string print_c_function(const Program& program, const std::string& symbol,
                             const std::string& args_type) {
  std::string text;
  if (!program.isa->c_target.empty()) {
    text += fmt::format("__attribute__((target(\"{}\")))\n", program.isa->c_target);
  }
  text += fmt::format("void {}(const {}* args) {{\n", symbol, args_type);
  Program used = clone(program);
  drop_unused(used);
  text += Printer(used).body();
  text += "}\n";
  return text;
}

}  // namespace tw
