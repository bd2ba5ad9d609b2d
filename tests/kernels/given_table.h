// Weights whose codes stand for values that each call brings: packed as their layout's text says,
// with the values of tests/reference/code_tables.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reference/code_tables.h"
#include "reference/matmul_reference.h"
#include "reference/pack_reference.h"

namespace tw::test {

/// `segments`: of a vector. `wrong_bias`: one that is not to be read.
inline std::vector<uint8_t> given_weights(const std::string& text, size_t segments,
                                          const Matmul& problem, bool wrong_bias) {
  const LayoutText& layout = read_layout(text, segments);
  const CodeValues& table = *code_values(layout.table);
  OperandCodes in{problem.n, problem.k, problem.rhs, {}, problem.scales, problem.bias};
  in.values = problem.rhs;
  const int count = 1 << layout.bits;
  for (int8_t& code : in.codes) {
    code = static_cast<int8_t>(table.code_of(code) % count - count / 2);
  }
  if (wrong_bias) in.bias.assign(problem.n, 1000);
  return pack(layout, in);
}

/// What a call brings, of whose words the low bytes are values.
inline std::vector<int32_t> given_values(const std::string& name) {
  const CodeValues& codes = *code_values(name);
  std::vector<int32_t> values;
  for (size_t i = 0; i < 4; ++i) values.push_back(0x5500 | static_cast<uint8_t>(codes.values[i]));
  return values;
}

}  // namespace tw::test
