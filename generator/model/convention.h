// A calling convention as data: what a function finds in registers, what it must give back, and how
// debuggers and exceptions get past its frame. Read from templates/abi/*.yaml.
#pragma once

#include <string>
#include <vector>

namespace tw {

/// Text after lines of a prologue or an epilogue, or instead of an empty place. {symbol} function,
/// {r} register, {o} its offset from the stack pointer, {cfa_o} from the caller's stack pointer,
/// {bytes} of the frame, {cfa} from the stack pointer to the caller's.
struct UnwindRules {
  std::vector<std::string> begin, end;   ///< around the function
  std::string entry;                     ///< after each line before the frame
  std::string frame;                     ///< after the stack pointer moved down
  std::string save_scalar, save_vector;  ///< after a register is saved
  std::vector<std::string> prologue_end;
  std::vector<std::string> epilogue_begin;
  std::string restore_scalar, restore_vector;
  std::string frame_left;  ///< after the stack pointer moved up
  std::vector<std::string> epilogue_end;
};

/// Lines with {r} register, {o} byte offset.
struct Convention {
  std::string name;           ///< empty: none
  std::string args_register;  ///< holds tw_args* on entry
  std::string args_move;      ///< brings it {from} there {to} where the ISA's own convention has it
  std::vector<std::string> callee_saved;    ///< registers, by their names in any view
  std::vector<std::string> entry;           ///< first lines of a function ("endbr64", "bti c")
  std::vector<std::string> before_restore;  ///< at the end, before registers are restored
  std::vector<std::string> leave;           ///< last lines ("vzeroupper", "ret")
  int frame_align = 16;
  int frame_bias = 0;                       ///< bytes the caller already pushed (x86-64: 8)
  std::string save_vector, restore_vector;  ///< the callee-saved part of {r}
  int save_vector_bytes = 8;
  UnwindRules unwind;
};

}  // namespace tw
