// Programs with one small mistake each, planted systematically: at every operation, all that can
// go wrong there.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tw::test {

struct Mutant {
  std::string kind;                      ///< "wrong offset"
  std::string where;                     ///< the operation, as text
  std::function<void(Program&)> change;  ///< of a clone of the Program
};

/// Mutants that compute something else. Left out, because nothing can come of them:
///   - changes of what only prefetches use, or nobody;
///   - arguments changed for others that hold the same (by the same operations on the same values);
///   - arguments of commutative operations exchanged; those of fmin and fmax, which differ for NaN
///     and signed zeros only.
/// Some that are left compute the same nevertheless: what is read for lanes beyond the last column
/// may be anything readable, and a body for edges does whole tiles right, too.
std::vector<Mutant> mutants(const Program& program);

/// An allocated Program's mutants: a value in the register of another that lives at that time.
std::vector<Mutant> register_mutants(const Program& program);

}  // namespace tw::test
