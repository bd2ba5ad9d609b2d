#include "spill/hot_loops.h"

#include <algorithm>
#include <cctype>
#include <set>
#include <stdexcept>

#include "spill/loops.h"

namespace tw::spill {
namespace {

bool multiplies(const Instruction& instruction) {
  // Multiplications and dot products of x86 and Arm, integer and not: imul, vpmaddubsw, vpdpbusd,
  // sdot, smmla, smlal, fmla, smopa ...
  for (const char* part : {"mul", "madd", "msub", "dpb", "dpw", "dot", "mla", "mls", "mopa"}) {
    if (instruction.mnemonic.find(part) != std::string::npos) return true;
  }
  return false;
}

/// General registers under one name each: eax is rax, r8d is r8, w3 is x3.
std::string general(const std::string& word) {
  if (word.size() == 3 && word[0] == 'e') return "r" + word.substr(1);
  if (word.size() >= 3 && word[0] == 'r' && word.back() == 'd')
    return word.substr(0, word.size() - 1);
  if (word == "wsp") return "sp";
  const bool digit = word.size() > 1 && std::isdigit(static_cast<unsigned char>(word[1])) != 0;
  return word[0] == 'w' && digit ? "x" + word.substr(1) : word;
}

bool is_vector(const std::string& word) {
  const size_t digits = word.find_first_of("0123456789");
  if (digits == std::string::npos) return false;
  const std::string file = word.substr(0, digits);
  const bool number = word.find_first_not_of("0123456789", digits) == std::string::npos;
  const bool x86 = file == "xmm" || file == "ymm" || file == "zmm" || file == "k";
  return number &&
         (x86 || (file.size() == 1 && std::string("vqdshbzp").find(file) != std::string::npos));
}

bool is_memory(const std::string& operand) {
  return operand.find('[') != std::string::npos;
}

/// Which registers point into the stack frame while instructions are passed in the order of their
/// addresses: the stack and frame pointers, and what was computed from them last.
class StackPointers {
 public:
  void pass(const Instruction& instruction) {
    const std::string& m = instruction.mnemonic;
    if (instruction.operands.empty() || m.starts_with("st") || m.starts_with("push")) return;
    for (const char* reader : {"cmp", "cmn", "tst", "test", "cbz", "cbnz", "tbz", "tbnz", "pop"}) {
      if (m.starts_with(reader)) return;
    }
    const std::string& first = instruction.operands[0];
    if (is_memory(first)) return;
    write(general(first), instruction);
    if (m.starts_with("ldp") && instruction.operands.size() > 1) {
      write(general(instruction.operands[1]), instruction);
    }
  }
  [[nodiscard]] bool any_in(const std::string& operand) const {
    const std::vector<std::string> words = Instruction::words(operand);
    return std::any_of(words.begin(), words.end(),
                       [&](const std::string& word) { return known_.contains(general(word)); });
  }

 private:
  void write(const std::string& written, const Instruction& instruction) {
    if (written == "rsp" || written == "sp") return;
    const std::string& m = instruction.mnemonic;
    const bool moves = m == "mov" || m == "add" || m == "sub" || m == "addvl";
    bool from_stack = (m == "add" || m == "sub") && known_.contains(written);
    bool from_memory = false;
    for (size_t i = 1; i < instruction.operands.size(); ++i) {
      const std::string& operand = instruction.operands[i];
      from_memory = from_memory || (m != "lea" && is_memory(operand));
      from_stack =
          from_stack || ((m == "lea" || (moves && !is_memory(operand))) && any_in(operand));
    }
    // An epilogue in the middle restores the frame pointer, and the code after it still has one.
    const bool frame = written == "rbp" || written == "x29";
    if (from_stack) {
      known_.insert(written);
    } else if (!frame || !from_memory) {
      known_.erase(written);
    }
  }
  std::set<std::string> known_ = {"rsp", "sp"};
};

enum class Access { none, store, load };

Access vector_access(const Instruction& instruction, const StackPointers& pointers) {
  bool vector = false;
  bool stack = false;
  for (const std::string& operand : instruction.operands) {
    if (is_memory(operand)) {
      const size_t open = operand.find('[');
      stack = pointers.any_in(operand.substr(open, operand.find(']') - open));
    } else {
      const std::vector<std::string> words = Instruction::words(operand);
      vector = vector || std::any_of(words.begin(), words.end(), is_vector);
    }
  }
  if (!vector || !stack) return Access::none;
  const bool stores = is_memory(instruction.operands[0]) || instruction.mnemonic.starts_with("st");
  return stores ? Access::store : Access::load;
}

int count_multiplies(const std::vector<Instruction>& function, const Loop& loop) {
  return static_cast<int>(
      std::count_if(loop.begin(), loop.end(), [&](size_t i) { return multiplies(function[i]); }));
}

/// Those with multiplications that contain no other such loop.
std::vector<Loop> innermost(const std::vector<Instruction>& function) {
  std::vector<Loop> loops = find_loops(function);
  std::erase_if(loops, [&](const Loop& loop) { return count_multiplies(function, loop) == 0; });
  std::vector<Loop> found;
  for (const Loop& loop : loops) {
    const bool contains_other = std::any_of(loops.begin(), loops.end(), [&](const Loop& other) {
      return other.size() < loop.size() &&
             std::includes(loop.begin(), loop.end(), other.begin(), other.end());
    });
    if (!contains_other) found.push_back(loop);
  }
  return found;
}

}  // namespace

HotLoops examine(const std::vector<Instruction>& function) {
  std::vector<Access> accesses;
  StackPointers pointers;
  for (const Instruction& instruction : function) {
    accesses.push_back(vector_access(instruction, pointers));
    pointers.pass(instruction);
  }
  HotLoops found;
  for (const Loop& loop : innermost(function)) {
    ++found.loops;
    for (const size_t i : loop) {
      found.stores += accesses[i] == Access::store ? 1 : 0;
      found.loads += accesses[i] == Access::load ? 1 : 0;
      if (is_call(function[i])) throw std::runtime_error("its hot loop calls a function");
    }
    const int multiplies = count_multiplies(function, loop);
    if (multiplies <= found.multiplies) continue;
    found.multiplies = multiplies;
    found.instructions = static_cast<int>(loop.size());
  }
  if (found.loops == 0) throw std::runtime_error("no loop with multiplications was found");
  return found;
}

}  // namespace tw::spill
