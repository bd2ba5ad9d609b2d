// Allocated Program -> assembly file.
#pragma once

#include <string>

#include "emit/dialect.h"
#include "ir/program.h"

namespace tw {

/// A whole .S file: head comment (complete lines, printed as they are), condition on the
/// architecture, the function `symbol`, notes. Throws std::runtime_error when the Program is not
/// allocated or the dialect does not know its architecture.
std::string print_assembly(const Program& program, const std::string& symbol,
                           const Dialect& dialect, const std::string& head_comment);

}  // namespace tw
