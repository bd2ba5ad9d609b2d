#include "emit/assembly_printer.h"

#include <fmt/format.h>

#include <map>
#include <stdexcept>

#include "emit/assembly_frame.h"
#include "emit/register_map.h"
#include "ir/text.h"
#include "model/row_text.h"
#include "schedule/rows.h"
#include "schedule/simulate.h"

namespace tw {
namespace {

constexpr size_t comment_column = 56;
constexpr size_t page_width = 100;

/// Of each Compare, in their order.
constexpr Compare opposites[] = {Compare::not_equal, Compare::equal, Compare::at_least,
                                 Compare::below};

class AssemblyPrinter {
 public:
  AssemblyPrinter(const Program& program, const std::string& symbol, const Dialect& dialect)
      : program_(program),
        isa_(*program.isa),
        dialect_(dialect),
        files_(register_files(program)),
        symbol_(symbol) {}

  std::string print(const std::string& head_comment) {
    text_ = head_comment;
    if (!text_.empty() && text_.back() != '\n') text_ += '\n';
    print_register_map();
    text_ += fmt::format("#if {}\n", assembly_guard(dialect_, isa_.architecture));
    raw_lines(isa_.assembly_head);
    raw_lines(isa_.rules.head);
    by_object([this](const ObjectFormat& object) { return begin(object); });
    by_object([this](const ObjectFormat& object) {
      return prologue(program_, convention(object), symbol_);
    });
    region(program_.body);
    by_object([this](const ObjectFormat& object) {
      return epilogue(program_, convention(object), symbol_);
    });
    by_object([](const ObjectFormat& object) { return object.function_end; });
    raw_lines(isa_.rules.foot);
    by_object([this](const ObjectFormat& object) { return own(object.foot); });
    text_ += "#endif\n";
    for (const ObjectFormat& object : dialect_.objects) raw_lines(object.file_end);
    return text_;
  }

 private:
  [[nodiscard]] const Convention& convention(const ObjectFormat& object) const {
    const auto at = object.conventions.find(isa_.architecture);
    if (at != object.conventions.end()) return at->second;
    throw std::runtime_error(
        fmt::format("{} has no calling convention for {}", object.name, isa_.architecture));
  }

  [[nodiscard]] std::vector<std::string> own(
      const std::map<std::string, std::vector<std::string>>& by_architecture) const {
    const auto at = by_architecture.find(isa_.architecture);
    return at == by_architecture.end() ? std::vector<std::string>() : at->second;
  }

  /// Local labels have names by a macro where one text serves several formats.
  [[nodiscard]] std::vector<std::string> begin(const ObjectFormat& object) const {
    std::vector<std::string> lines = object.function_begin;
    if (dialect_.objects.size() > 1) {
      lines.insert(lines.begin(), fmt::format("#define L(name) {}##name", object.local_label));
    }
    return lines;
  }

  /// Lines that differ by object format, under conditions.
  template <typename LinesOf>
  void by_object(const LinesOf& lines_of) {
    std::vector<std::pair<std::string, std::vector<std::string>>> groups;
    for (const ObjectFormat& object : dialect_.objects) {
      std::vector<std::string> lines = lines_of(object);
      if (!groups.empty() && groups.back().second == lines) {
        groups.back().first += " || " + object.condition;
      } else {
        groups.emplace_back(object.condition, std::move(lines));
      }
    }
    if (groups.size() == 1) return raw_lines(groups.front().second);
    if (groups.back().second.empty()) groups.pop_back();
    for (size_t i = 0; i < groups.size(); ++i) {
      text_ += fmt::format("#{} {}\n", i == 0 ? "if" : "elif", groups[i].first);
      raw_lines(groups[i].second);
    }
    text_ += "#endif\n";
  }

  void print_register_map() {
    const Loop* loop = hottest_loop(program_);
    if (loop == nullptr) return;
    text_ += fmt::format("{0}\n{0} Registers in loop {1}:\n", dialect_.comment, loop->label);
    std::string row = dialect_.comment;
    for (const RegisterUse& use : register_map(program_, *loop)) {
      // The first name says enough of a register that many values pass through.
      const std::string item =
          fmt::format("  {} {}{}", use.name, use.values.empty() ? "-" : use.values.front(),
                      use.values.size() > 1 ? " ..." : "");
      if (row.size() + item.size() > page_width) {
        text_ += row + '\n';
        row = dialect_.comment;
      }
      row += item;
    }
    text_ += row + '\n';
  }

  /// Complete lines but for the function's name.
  void raw_lines(const std::vector<std::string>& lines) {
    for (const std::string& it : lines) {
      const std::string done =
          format_row_text(it, {{"symbol", [this](std::string_view) { return symbol_; }}});
      const bool at_margin = done.ends_with(':') || done.starts_with('#');
      text_ += (at_margin ? "" : "  ") + done + '\n';
    }
  }

  void line(const std::string& instruction, const std::string& comment = {}) {
    std::string out = "  " + instruction;
    if (!comment.empty()) {
      if (out.size() < comment_column) out.append(comment_column - out.size(), ' ');
      out += fmt::format(" {} {}", dialect_.comment, comment);
    }
    text_ += out + '\n';
  }

  void label(const std::string& name) { text_ += name + ":\n"; }

  /// "k", "k_2" ...: a name for a place in the function.
  std::string place(const std::string& name) {
    const int count = ++places_[name];
    return count == 1 ? name : fmt::format("{}_{}", name, count);
  }
  std::string local(const std::string& name) const {
    return dialect_.objects.size() > 1 ? fmt::format("L({})", name)
                                       : dialect_.objects.front().local_label + name;
  }

  std::string reg(Value v, std::string_view view = {}) const {
    return register_name(isa_, files_[static_cast<size_t>(v)],
                         program_.registers[static_cast<size_t>(v)], view);
  }

  const std::string& hint(Value v) const { return program_.values[static_cast<size_t>(v)].name; }

  std::string names(const Operands& values) const {
    std::string text;
    for (Value v : values) {
      const std::string& its = hint(v);
      if (!its.empty()) text += (text.empty() ? "" : ", ") + its;
    }
    return text;
  }

  /// Rules of control flow: {n}, {a} and {b} are registers, {label} and {step} texts.
  void rule(const std::vector<std::string>& lines, const std::map<std::string, Value>& registers,
            const std::map<std::string, std::string>& texts, const std::string& comment = {}) {
    RowTextValues values;
    for (const auto& [name, v] : registers) {
      values[name] = [this, v = v](std::string_view view) { return reg(v, view); };
    }
    for (const auto& [name, text] : texts) {
      values[name] = [text = text](std::string_view) { return text; };
    }
    for (size_t i = 0; i < lines.size(); ++i) {
      line(format_row_text(lines[i], values), i == 0 ? comment : "");
    }
  }

  void region(const Region& region) {
    for (const Node& node : region.nodes) {
      std::visit([this](const auto& it) { print(it); }, node);
    }
  }

  void print(const Op& op) {
    if (op.row == nullptr) return print_frame(op);
    RowTextValues values;
    size_t result = 0;
    size_t argument = 0;
    for (const Operand& operand : op.row->operands) {
      const Value v = operand.is_result ? op.results[result++] : op.args[argument++];
      const int file = file_index(isa_, operand);
      values[operand.name] = [this, v, file](std::string_view view) {
        return register_name(isa_, file, program_.registers[static_cast<size_t>(v)], view);
      };
    }
    for (size_t i = 0; i < op.immediates.size(); ++i) {
      values[op.row->immediates[i].name] = [&op, i](std::string_view) {
        return op.row->immediates[i].text(op.immediates[i]);
      };
    }
    const std::string comment =
        op.results.empty() ? (op.args.empty() ? "" : hint(op.args.back())) : names(op.results);
    for (size_t i = 0; i < op.row->assembly.size(); ++i) {
      line(format_row_text(op.row->assembly[i], values), i == 0 ? comment : "");
    }
  }

  void print_frame(const Op& op) {
    if (op.code == OpCode::frame_load) {
      line(restore_scalar(isa_, reg(op.results[0]), op.imm * 8), names(op.results));
    } else if (op.code == OpCode::frame_store) {
      line(save_scalar(isa_, reg(op.args[0]), op.imm * 8), names(op.args) + ", kept in the frame");
    } else if (op.code == OpCode::scratch) {
      for (const std::string& text : scratch_address(program_, reg(op.results[0]))) {
        line(text, names(op.results));
      }
    } else {
      throw std::runtime_error(fmt::format("{}: {} is no instruction of {}", program_.name,
                                           info(op.code).name, isa_.name));
    }
  }

  void print(const std::unique_ptr<Loop>& loop) {
    const std::string name = place(loop->label);
    const std::string end = local(name + "_done");
    rule(isa_.rules.skip_if_zero, {{"n", loop->counter}}, {{"label", end}});
    if (loop->hot) by_object([this](const ObjectFormat& it) { return own(it.hot_loop); });
    label(local(name));
    region(loop->body);
    rule(isa_.rules.loop_end, {{"n", loop->counter}},
         {{"label", local(name)}, {"step", to_string(loop->step)}},
         fmt::format("next {}", loop->label));
    label(end);
  }

  void print(const std::unique_ptr<If>& branch) {
    const std::string name = place("if");
    const bool has_else = !branch->else_body.nodes.empty();
    const std::string otherwise = local(name + (has_else ? "_else" : "_done"));
    const std::string inverse(tw::name(opposites[static_cast<size_t>(branch->compare)]));
    const auto jumps = isa_.rules.branch.find(inverse);
    if (jumps == isa_.rules.branch.end()) {
      throw std::runtime_error(
          fmt::format("{} has no assembly rule to branch when {}", isa_.name, inverse));
    }
    rule(jumps->second, {{"a", branch->a}, {"b", branch->b}}, {{"label", otherwise}},
         fmt::format("unless {} {} {}", hint(branch->a), tw::name(branch->compare),
                     hint(branch->b)));
    region(branch->then_body);
    if (has_else) {
      rule(isa_.rules.jump, {}, {{"label", local(name + "_done")}});
      label(otherwise);
      region(branch->else_body);
    }
    label(local(name + "_done"));
  }

  const Program& program_;
  const Isa& isa_;
  const Dialect& dialect_;
  std::vector<int> files_;
  const std::string& symbol_;
  std::map<std::string, int> places_;
  std::string text_;
};

}  // namespace

std::string print_assembly(const Program& program, const std::string& symbol,
                           const Dialect& dialect, const std::string& head_comment) {
  if (!program.allocated()) {
    throw std::runtime_error(fmt::format("{}: registers are not allocated", program.name));
  }
  return AssemblyPrinter(program, symbol, dialect).print(head_comment);
}

}  // namespace tw
