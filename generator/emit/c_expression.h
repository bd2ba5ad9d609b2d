// C expressions as trees of operators, and the scalar values of a Program as such.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "emit/c_values.h"

namespace tw {

/// How tightly an operator binds; smaller binds tighter. `bits`: shifts and masks, around whose
/// operands -Wall -Wextra wants parentheses.
enum class Binding { primary, prefix, product, sum, compare, bits, conditional };

struct Expression {
  std::string text;  ///< of a leaf (a name, a number, a call), else the operator
  Binding binding = Binding::primary;
  std::vector<Expression> operands = {};  ///< one: a prefix; three: a ? b : c
};

/// With as few parentheses as the language and -Wall -Wextra allow.
std::string to_text(const Expression& expression);
/// In parentheses unless it binds at least as tightly as `least`.
std::string to_text(const Expression& expression, Binding least);

/// `pattern` (a row's C text, a cast) with expressions for its names, in parentheses where needed.
std::string fill_in(const std::string& pattern,
                    const std::map<std::string, Expression>& expressions);

/// "x += 64" for x = x + 64.
std::string assignment(const std::string& name, const Expression& value);

/// A value of one class of Isa::c_types as another one. Throws std::runtime_error when the table
/// has no such cast.
Expression c_cast(const Isa& isa, const Expression& value, const std::string& from,
                  const std::string& to);

/// Names of declared variables; empty before the declaration. One per CValues::variables.
using CNames = std::vector<std::string>;

/// Writes the scalar values of one Program.
class CExpressions {
 public:
  CExpressions(const Program& program, const CValues& values, const CNames& names)
      : program_(program), values_(values), names_(names) {}

  /// A value as an operand: a variable's name or its expression in place.
  [[nodiscard]] Expression value(Value v) const;
  /// The plain C expression of a scalar operation.
  [[nodiscard]] Expression operation(const Op& op) const;
  /// The address that a memory operation touches.
  [[nodiscard]] Expression address(const Op& op) const;
  /// A store_scalar, as a statement.
  [[nodiscard]] std::string store(const Op& op) const;
  /// Variables that reading `v` reads.
  void collect_reads(Value v, std::vector<int>& variables) const;

 private:
  [[nodiscard]] Expression plus(Value base, int64_t bytes) const;
  [[nodiscard]] int64_t fixed(Length length) const;
  [[nodiscard]] Expression load(const Op& op) const;
  [[nodiscard]] Expression if_null(const Op& op) const;

  const Program& program_;
  const CValues& values_;
  const CNames& names_;
};

}  // namespace tw
