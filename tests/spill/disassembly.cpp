#include "spill/disassembly.h"

#include <cctype>
#include <cstdlib>
#include <sstream>
#include <stdexcept>

#include "support/run_command.h"

namespace tw::spill {
namespace {

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t") - begin + 1);
}

/// At commas, but not at those within brackets: "{v0.4s, v1.4s}, [x1, #16]" is two operands.
std::vector<std::string> split_operands(std::string_view text) {
  std::vector<std::string> operands;
  int depth = 0;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '[' || c == '{' || c == '(') ++depth;
    if (c == ']' || c == '}' || c == ')') --depth;
    if (c != ',' || (depth > 0 && i < text.size())) continue;
    const std::string_view operand = trimmed(text.substr(begin, i - begin));
    if (!operand.empty()) operands.emplace_back(operand);
    begin = i + 1;
  }
  return operands;
}

/// "     4c0:      \tvmovups\tzmm0, zmmword ptr [rsi]  # 0x0 <x>"; false for lines of another kind.
bool parse_line(const std::string& line, Instruction& instruction) {
  const char* begin = line.c_str();
  char* end = nullptr;
  instruction.address = std::strtoull(begin, &end, 16);
  if (end == begin || *end != ':') return false;
  std::string_view rest = trimmed(std::string_view(end).substr(1));
  for (const char* comment : {"//", "# ", "<"}) {
    rest = trimmed(rest.substr(0, rest.find(comment)));
  }
  if (rest.starts_with('{')) {  // "{vex} vpdpbusd ...": of two encodings, the one meant
    rest = trimmed(rest.substr(std::min(rest.find('}'), rest.size() - 1) + 1));
  }
  const size_t space = std::min(rest.find_first_of(" \t"), rest.size());
  instruction.mnemonic = rest.substr(0, space);
  instruction.operands = split_operands(rest.substr(space));
  return !instruction.mnemonic.empty();
}

}  // namespace

std::vector<std::string> Instruction::words(std::string_view operand) {
  std::vector<std::string> found;
  bool in_word = false;
  for (const char c : operand) {
    const bool part = std::isalnum(static_cast<unsigned char>(c)) != 0;
    if (part && !in_word) found.emplace_back();
    if (part) found.back() += c;
    in_word = part;
  }
  return found;
}

std::vector<Instruction> parse_disassembly(const std::string& text) {
  std::vector<Instruction> instructions;
  std::istringstream lines(text);
  Instruction instruction;
  for (std::string line; std::getline(lines, line);) {
    if (parse_line(line, instruction)) instructions.push_back(instruction);
  }
  return instructions;
}

std::map<std::string, std::vector<Instruction>> disassemble(const std::string& objdump,
                                                            const std::string& object) {
  const std::string command =
      objdump + " -d --no-show-raw-insn --x86-asm-syntax=intel '" + object + "'";
  const Ran ran = run_command(command);
  if (ran.status != 0) throw std::runtime_error(command + "\n" + ran.output);
  std::map<std::string, std::vector<Instruction>> functions;
  std::vector<Instruction>* code = nullptr;
  std::istringstream lines(ran.output);
  Instruction instruction;
  for (std::string line; std::getline(lines, line);) {
    const size_t name = line.find(" <");  // "0000000000000040 <function>:"
    if (line.ends_with(">:") && name != std::string::npos) {
      code = &functions[line.substr(name + 2, line.size() - name - 4)];
    } else if (code != nullptr && parse_line(line, instruction)) {
      code->push_back(instruction);
    }
  }
  return functions;
}

}  // namespace tw::spill
