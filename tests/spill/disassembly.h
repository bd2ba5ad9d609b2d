// The instructions of the functions of an object file, as llvm-objdump prints them (x86 in Intel
// syntax, so that results come first on every architecture).
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tw::spill {

struct Instruction {
  uint64_t address = 0;
  std::string mnemonic;
  std::vector<std::string> operands;  ///< "zmm3", "zmmword ptr [rsp + 0x40]", "{v0.16b, v1.16b}"

  /// The words of an operand: names of registers among them.
  static std::vector<std::string> words(std::string_view operand);
};

/// Of an object's functions, by their names. Throws std::runtime_error when objdump fails.
std::map<std::string, std::vector<Instruction>> disassemble(const std::string& objdump,
                                                            const std::string& object);

/// One function's, in what objdump prints.
std::vector<Instruction> parse_disassembly(const std::string& text);

}  // namespace tw::spill
