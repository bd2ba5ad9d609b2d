// Which values share a C variable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emit/c_lives.h"
#include "emit/c_values.h"

namespace tw {

/// Votes for a value's C type class: the operations that make and use it, inner ones count more.
using Votes = std::vector<std::map<std::string, int64_t>>;

Votes count_votes(const Program& program, const CValues& values);
/// The class with most votes; empty without any.
std::string elected(const std::map<std::string, int64_t>& votes);

/// Sets of values that share a variable; values without one have sets too. Loops keep what they
/// carry in one variable; accumulators grow in place; values of one name that follow one another
/// (an unrolled loop's loads) take turns in one variable.
std::vector<std::vector<Value>> share_variables(const Program& program, const CValues& values,
                                                const Votes& votes, const Lives& lives);

}  // namespace tw
