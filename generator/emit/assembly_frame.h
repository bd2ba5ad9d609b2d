// The stack frame of an assembly function: scalar slots, then the registers it must restore.
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
  int64_t scratch = 0;  ///< where the Program's scratch memory begins
};

Frame make_frame(const Program& program);

/// Lines that make the frame and save registers, with call-frame information; and the reverse.
std::vector<std::string> frame_enter(const Isa& isa, const Frame& frame);
std::vector<std::string> frame_leave(const Isa& isa, const Frame& frame);

/// A line that moves a scalar register to (or from) `offset` in the frame.
std::string save_scalar(const Isa& isa, const std::string& reg, int64_t offset);
std::string restore_scalar(const Isa& isa, const std::string& reg, int64_t offset);
/// A line that puts the address of `offset` in the frame into a scalar register.
std::string frame_address(const Isa& isa, const std::string& reg, int64_t offset);

}  // namespace tw
