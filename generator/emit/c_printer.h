// Prints a lowered or ordered Program as a C11 function of the ISA's intrinsics.
#pragma once

#include <string>

#include "ir/program.h"

namespace tw {

/// The function's definition, without includes or guards; its only parameter is
/// `const tw_args* args`, or that of `args_type`. The text ends with a newline and needs `kernel.h`
/// and Isa::c_includes. Throws std::runtime_error when the ISA's table lacks C text or a cast that
/// is needed.
std::string print_c_function(const Program& program, const std::string& symbol,
                             const std::string& args_type = "tw_args");

}  // namespace tw
