// Checks what register allocation says, file by file and row by row.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "ir/row_use.h"
#include "ir/text.h"
#include "ir/typing.h"
#include "model/reject.h"

namespace tw {
namespace {

template <typename F>
int file_index(const Isa& isa, F&& is_it) {
  const auto at = std::find_if(isa.files.begin(), isa.files.end(), is_it);
  return at == isa.files.end() ? -1 : static_cast<int>(at - isa.files.begin());
}

/// Fills in the file of each value that a row names a file for.
class FileFinder {
 public:
  FileFinder(const Program& program, std::vector<int>& files) : program_(program), files_(files) {}

  void region(const Region& region) {
    for (const Node& node : region.nodes) {
      std::visit([this](const auto& it) { visit(it); }, node);
    }
  }

 private:
  void want(Value v, int file) {
    int& known = files_[static_cast<size_t>(v)];
    if (known >= 0 && known != file) {
      reject("{} is needed in two register files, {} and {}",
             unique_names(program_)[static_cast<size_t>(v)], name(known), name(file));
    }
    known = file;
  }
  const std::string& name(int file) const {
    return program_.isa->files[static_cast<size_t>(file)].name;
  }

  void visit(const Op& op) {
    if (op.row == nullptr) return;
    for (size_t i = 0; i < op.row->operands.size(); ++i) {
      const Operand& operand = op.row->operands[i];
      if (operand.file.empty()) continue;
      const int file =
          file_index(*program_.isa, [&](const auto& it) { return it.name == operand.file; });
      if (file < 0) {
        reject("row {} names register file {}, which {} does not have", op.row->name, operand.file,
               program_.isa->name);
      }
      want(operand_value(op, i), file);
    }
  }
  void visit(const std::unique_ptr<Loop>& loop) {
    region(loop->body);
    for (size_t i = 0; i < loop->inits.size(); ++i) {
      Value all[] = {loop->inits[i], loop->params[i], loop->yields[i], loop->results[i]};
      int file = -1;
      for (Value v : all) file = std::max(file, files_[static_cast<size_t>(v)]);
      if (file < 0) continue;
      for (Value v : all) want(v, file);
    }
  }
  void visit(const std::unique_ptr<If>& branch) {
    region(branch->then_body);
    region(branch->else_body);
  }

  const Program& program_;
  std::vector<int>& files_;
};

class RegisterVerifier {
 public:
  explicit RegisterVerifier(const Program& program)
      : program_(program), files_(register_files(program)) {}

  void region(const Region& region) {
    for (const Node& node : region.nodes) {
      std::visit([this](const auto& it) { visit(it); }, node);
    }
  }

 private:
  template <typename... T>
  [[noreturn]] void fail(fmt::format_string<T...> text, T&&... args) const {
    throw std::invalid_argument(at_() + ": " + fmt::format(text, std::forward<T>(args)...));
  }

  int reg(Value v) const { return program_.registers[static_cast<size_t>(v)]; }
  int file(Value v) const { return files_[static_cast<size_t>(v)]; }
  bool shared(Value a, Value b) const { return reg(a) == reg(b) && file(a) == file(b); }
  std::string name(Value v) const { return unique_names(program_)[static_cast<size_t>(v)]; }

  /// A value that is read, or a result that an instruction must put somewhere.
  void has_register(Value v) const {
    if (file(v) < 0) fail("{} has no register file", name(v));
    const RegisterFile& in = program_.isa->files[static_cast<size_t>(file(v))];
    if (reg(v) < 0) fail("{} has no register", name(v));
    if (reg(v) >= in.count()) {
      fail("{} is in register {} of file {}, which has {}", name(v), reg(v), in.name, in.count());
    }
  }

  void visit(const Op& op) {
    at_ = [this, &op] { return to_text(program_, op, unique_names(program_)); };
    for (Value v : op.args) has_register(v);
    if (op.row == nullptr) {
      for (Value v : op.results) {
        if (reg(v) >= 0) has_register(v);
      }
      return;
    }
    for (Value v : op.results) has_register(v);
    for (size_t i = 0; i < op.row->operands.size(); ++i) operand(op, i);
    tuples(op);
    for (size_t i = 0; i < op.results.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        if (!shared(op.results[i], op.results[j])) continue;
        fail("results {} and {} share a register", name(op.results[j]), name(op.results[i]));
      }
    }
  }

  void operand(const Op& op, size_t index) {
    const Operand& operand = op.row->operands[index];
    Value v = operand_value(op, index);
    if (!operand.allowed.empty() && std::find(operand.allowed.begin(), operand.allowed.end(),
                                              reg(v)) == operand.allowed.end()) {
      fail("{} is in register {}, which operand {} does not allow", name(v), reg(v), operand.name);
    }
    for (size_t i = op.results.size(); i < op.row->operands.size(); ++i) {
      Value arg = operand_value(op, i);
      bool tied = operand.tied == op.row->operands[i].name;
      if (operand.is_result && tied && !shared(v, arg)) {
        fail("{} must share the register of {}", name(v), name(arg));
      }
      if (operand.is_result && operand.early_clobber && !tied && shared(v, arg)) {
        fail("{} is written before {} is read, and they share a register", name(v), name(arg));
      }
    }
  }

  void tuples(const Op& op) {
    for (size_t i = 1; i < op.row->operands.size(); ++i) {
      const Operand& before = op.row->operands[i - 1];
      if (before.tuple.empty() || before.tuple != op.row->operands[i].tuple) continue;
      Value a = operand_value(op, i - 1);
      Value b = operand_value(op, i);
      if (number(b) != number(a) + 1) {
        fail("{} and {} must be in consecutive registers", name(a), name(b));
      }
    }
  }
  /// The hardware's number of a value's register.
  int number(Value v) const {
    const RegisterFile& in = program_.isa->files[static_cast<size_t>(file(v))];
    auto index = static_cast<size_t>(reg(v));
    return index < in.consecutive.size() ? in.consecutive[index] : reg(v);
  }

  void visit(const std::unique_ptr<Loop>& loop) {
    auto here = [l = loop.get()] { return "loop " + l->label; };
    at_ = here;
    has_register(loop->count);
    if (loop->counter != no_value) has_register(loop->counter);
    for (size_t i = 0; i < loop->inits.size(); ++i) {
      Value init = loop->inits[i];
      has_register(init);
      for (Value v : {loop->params[i], loop->yields[i], loop->results[i]}) {
        if (!shared(init, v)) {
          fail("{} and {} are one loop variable and must share a register", name(init), name(v));
        }
      }
      for (size_t j = 0; j < i; ++j) {
        if (!shared(init, loop->inits[j])) continue;
        fail("loop variables {} and {} share a register", name(loop->params[j]),
             name(loop->params[i]));
      }
    }
    region(loop->body);
  }

  void visit(const std::unique_ptr<If>& branch) {
    at_ = [] { return std::string("if"); };
    has_register(branch->a);
    has_register(branch->b);
    region(branch->then_body);
    region(branch->else_body);
  }

  const Program& program_;
  std::vector<int> files_;
  std::function<std::string()> at_;  ///< what is being looked at, for messages
};

}  // namespace

std::vector<int> register_files(const Program& program) {
  std::vector<int> files(program.values.size(), -1);
  FileFinder(program, files).region(program.body);
  for (size_t v = 0; v < files.size(); ++v) {
    if (files[v] >= 0) continue;
    const Type& type = program.values[v].type;
    files[v] = file_index(*program.isa, [&](const auto& file) { return holds(file, type); });
  }
  return files;
}

std::string verify_registers(const Program& program) {
  if (!program.allocated()) return "the Program is not allocated";
  try {
    RegisterVerifier(program).region(program.body);
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace tw
