// Pieces of a Program as text, for messages of the verifier and the interpreter.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tw {

/// One name per value, unique in the Program: the hint, or "v" and the value's number.
std::vector<std::string> unique_names(const Program& program);

/// "acc_2 = dot4_u8s8(acc, w, a)"; `names` as from unique_names().
std::string to_text(const Program& program, const Op& op, const std::vector<std::string>& names);

/// "at_least"
std::string_view name(Compare compare);
/// "accumulator_tiles"
std::string_view name(Mode mode);

}  // namespace tw
