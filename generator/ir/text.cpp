#include "ir/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "ir/typing.h"

namespace tw {

std::string_view name(Compare compare) {
  constexpr std::string_view names[] = {"equal", "not_equal", "below", "at_least"};
  return names[static_cast<size_t>(compare)];
}

std::string_view name(Mode mode) {
  constexpr std::string_view names[] = {"none", "streaming", "accumulator_tiles", "nibble_table"};
  const auto at = static_cast<size_t>(mode);  // of a Program that nobody has verified: any number
  return names[at < std::size(names) ? at : 0];
}

std::vector<std::string> unique_names(const Program& program) {
  std::vector<std::string> names;
  std::unordered_set<std::string> taken;
  std::unordered_map<std::string, int> last;  // number given to a hint
  for (size_t v = 0; v < program.values.size(); ++v) {
    const std::string& given = program.values[v].name;
    std::string hint = given.empty() ? fmt::format("v{}", v) : given;
    std::string name = hint;
    int& n = last.try_emplace(hint, 1).first->second;
    while (!taken.insert(name).second) name = fmt::format("{}_{}", hint, ++n);
    names.push_back(name);
  }
  return names;
}

namespace {

using Names = std::vector<std::string>;

std::string name_of(const Names& names, Value v) {
  if (v == no_value) return "none";
  bool known = v >= 0 && static_cast<size_t>(v) < names.size();
  return known ? names[static_cast<size_t>(v)] : fmt::format("?{}", v);
}

/// "w", with the register once there is one: "w@zmm3".
std::string use(const Program& program, const Names& names, Value v) {
  std::string text = name_of(names, v);
  if (v < 0 || static_cast<size_t>(v) >= program.registers.size()) return text;
  int index = program.registers[static_cast<size_t>(v)];
  if (index < 0) return text;
  const std::vector<RegisterFile>& files = program.isa->files;
  const auto file = std::find_if(files.begin(), files.end(), [&](const RegisterFile& it) {
    return holds(it, program.type(v));
  });
  if (file == files.end() || index >= file->count()) return fmt::format("{}@{}", text, index);
  return fmt::format("{}@{}", text, file->views.front().second[static_cast<size_t>(index)]);
}

/// As use(), and the length of a vector that is not as long as the ISA's.
std::string definition(const Program& program, const Names& names, Value v) {
  std::string text = use(program, names, v);
  if (v < 0 || static_cast<size_t>(v) >= program.values.size()) return text;
  Type type = program.type(v);
  if (type.kind != Kind::vector || type.bytes == program.isa->vector_bytes) return text;
  return fmt::format("{}:{}", text, to_string(type.bytes));
}

std::string immediate(const Op& op) {
  if (op.code == OpCode::arg && op.imm >= 0 && op.imm < static_cast<int64_t>(ArgField::all_count)) {
    return fmt::format("#{}", name(static_cast<ArgField>(op.imm)));
  }
  if (op.code == OpCode::mode_enter || op.code == OpCode::mode_leave) {
    return fmt::format("#{}", name(static_cast<Mode>(op.imm)));
  }
  return fmt::format("#{}", op.imm);
}

std::string call(const Program& program, const Op& op, const Names& names) {
  std::vector<std::string> inside;
  for (Value v : op.args) inside.push_back(use(program, names, v));
  if (op.row != nullptr) {
    for (size_t i = 0; i < op.immediates.size(); ++i) {
      bool known = i < op.row->immediates.size();
      inside.push_back(fmt::format("{}={}", known ? op.row->immediates[i].name : "?",
                                   to_string(op.immediates[i])));
    }
    return fmt::format("{}({})", op.row->name, fmt::join(inside, ", "));
  }
  const OpInfo& about = info(op.code);
  if (about.has('i')) inside.push_back(immediate(op));
  std::string text(about.name);
  if (about.has('b') || op.bits != 0) text += fmt::format(".{}", op.bits);
  text += fmt::format("({})", fmt::join(inside, ", "));
  if (op.offset != Length{}) text += fmt::format("[{}]", to_string(op.offset));
  return text;
}

/// Writes regions line by line, two blanks deeper each.
class Writer {
 public:
  explicit Writer(const Program& program) : program_(program), names_(unique_names(program)) {}

  std::string whole() {
    line(fmt::format("{} for {} ({}) {{", program_.name, program_.isa->name,
                     definition(program_, names_, program_.args)));
    inner(program_.body);
    line("}");
    return text_;
  }

 private:
  void line(const std::string& text) { text_ += fmt::format("{:{}}{}\n", "", 2 * depth_, text); }

  void inner(const Region& region, const std::vector<Value>* yields = nullptr) {
    ++depth_;
    for (const Node& node : region.nodes) {
      std::visit([this](const auto& it) { write(it); }, node);
    }
    if (yields != nullptr && !yields->empty()) line(fmt::format("yield {}", list(*yields)));
    --depth_;
  }

  void write(const Op& op) { line(to_text(program_, op, names_)); }

  void write(const std::unique_ptr<Loop>& loop) {
    std::vector<std::string> variables;
    for (size_t i = 0; i < loop->params.size(); ++i) {
      Value init = i < loop->inits.size() ? loop->inits[i] : no_value;
      variables.push_back(fmt::format("{} = {}", definition(program_, names_, loop->params[i]),
                                      use(program_, names_, init)));
    }
    std::string head = fmt::format("{}loop {} count={}", loop->hot ? "hot " : "", loop->label,
                                   use(program_, names_, loop->count));
    if (loop->step != Length{1}) head += fmt::format(" step={}", to_string(loop->step));
    if (loop->counter != no_value) {
      head += fmt::format(" counter={}", use(program_, names_, loop->counter));
    }
    line(fmt::format("{} ({}) {{", head, fmt::join(variables, ", ")));
    inner(loop->body, &loop->yields);
    line(loop->results.empty() ? "}" : fmt::format("}} -> {}", list(loop->results)));
  }

  void write(const std::unique_ptr<If>& branch) {
    line(fmt::format("if {} {} {} {{", use(program_, names_, branch->a), name(branch->compare),
                     use(program_, names_, branch->b)));
    inner(branch->then_body);
    if (!branch->else_body.nodes.empty()) {
      line("} else {");
      inner(branch->else_body);
    }
    line("}");
  }

  std::string list(const std::vector<Value>& values) {
    std::vector<std::string> texts;
    for (Value v : values) texts.push_back(use(program_, names_, v));
    return fmt::format("{}", fmt::join(texts, ", "));
  }

  const Program& program_;
  Names names_;
  std::string text_;
  int depth_ = 0;
};

}  // namespace

std::string to_text(const Program& program, const Op& op, const std::vector<std::string>& names) {
  std::string text = call(program, op, names);
  if (op.results.empty()) return text;
  std::vector<std::string> results;
  for (Value v : op.results) results.push_back(definition(program, names, v));
  return fmt::format("{} = {}", fmt::join(results, ", "), text);
}

std::string to_text(const Program& program) {
  return Writer(program).whole();
}

}  // namespace tw
