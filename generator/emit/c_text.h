// Small pieces of C text.
#pragma once

#include <string>

#include "emit/c_expression.h"
#include "model/isa.h"

namespace tw {

/// `hint` as a C identifier that is no keyword and no name of the file's own.
std::string c_identifier(const std::string& hint);

std::string c_scalar_type(CScalar type);

/// "x = x + 64" as "x += 64".
std::string compound_assignment(const std::string& name, const std::string& expression);

/// `content` on a line of its own, indented, broken at commas and operators where it is longer than
/// a line.
std::string wrap_c_line(const std::string& content, int depth);

/// A value of one class of Isa::c_types as another one. Throws std::runtime_error when the table
/// has no such cast.
std::string c_cast(const Isa& isa, const std::string& text, const std::string& from,
                   const std::string& to);

/// An expression that will stand in a row's text: in parentheses unless the place makes them
/// needless, which settle_loose() decides when the text is complete.
std::string loose(const Expression& expression);
std::string settle_loose(const std::string& text);

}  // namespace tw
