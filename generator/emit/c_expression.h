// Scalar expressions in C, with as few parentheses as the language and -Wall -Wextra allow.
#pragma once

#include <string>
#include <vector>

#include "emit/c_values.h"

namespace tw {

/// How tightly an expression's outermost operator binds; smaller binds tighter.
enum class Binding { primary, prefix, product, sum, other };

struct Expression {
  std::string text;
  Binding binding = Binding::primary;
};

/// `text`, in parentheses unless it binds at least as tightly as `least`.
std::string within(const Expression& expression, Binding least);

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
  /// Variables that reading `v` reads.
  void collect_reads(Value v, std::vector<int>& variables) const;

 private:
  [[nodiscard]] Expression plus(Value base, int64_t bytes) const;
  [[nodiscard]] int64_t fixed(Length length) const;
  [[nodiscard]] bool is_one(Value v) const;
  [[nodiscard]] std::string condition(Value tested) const;

  const Program& program_;
  const CValues& values_;
  const CNames& names_;
};

/// A 64-bit constant as C spells it.
std::string c_constant(int64_t value);

}  // namespace tw
