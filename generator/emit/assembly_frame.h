// What stands around the body of an assembly function: the stack frame (scalar slots, scratch, the
// registers that it must restore), by a calling convention.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tw {

struct SavedRegister {
  int file = 0;
  int index = 0;
  int64_t offset = 0;  ///< from the stack pointer inside the function
};

struct Frame {
  int64_t bytes = 0;  ///< 0: the function needs none
  std::vector<SavedRegister> saved;
  int64_t scratch = 0;  ///< where there is room for the Program's, in every convention
};

/// Throws std::runtime_error when it would be too large.
Frame make_frame(const Program& program, const Convention& convention);

/// All lines of function `symbol` before its body and behind it.
std::vector<std::string> prologue(const Program& program, const Convention& convention,
                                  const std::string& symbol);
std::vector<std::string> epilogue(const Program& program, const Convention& convention,
                                  const std::string& symbol);

/// A line that moves a scalar register to (or from) `offset` in the frame.
std::string save_scalar(const Isa& isa, const std::string& reg, int64_t offset);
std::string restore_scalar(const Isa& isa, const std::string& reg, int64_t offset);
/// Lines that put the address of the Program's scratch memory into a scalar register: where the ISA
/// has a rule for that, of a cache line's start, as vectors across two lines take longer (and rows
/// of tiles several times as long).
std::vector<std::string> scratch_address(const Program& program, const std::string& reg);

}  // namespace tw
