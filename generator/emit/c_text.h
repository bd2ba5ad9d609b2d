// Small pieces of C text.
#pragma once

#include <string>

#include "emit/c_values.h"

namespace tw {

/// `hint` as a C identifier that is no keyword and no name of the file's own.
std::string c_identifier(const std::string& hint);

/// As in names of constants: what is no letter or digit is an underscore.
std::string upper(std::string text);

std::string c_scalar_type(CScalar type);

/// `content` on a line of its own, indented, broken at commas and operators where it is longer than
/// a line.
std::string wrap_c_line(const std::string& content, int depth);

}  // namespace tw
