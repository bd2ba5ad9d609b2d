// Type inference: the C types of scalars (sizes, bits, pointers to bytes) and of vectors.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "emit/c_values.h"

namespace tw {

inline bool is_pointer(CScalar type) {
  return type == CScalar::pointer || type == CScalar::const_pointer;
}

CScalar type_of_field(ArgField field);

/// Sets CValues::scalar and ::slots. Pointers spread from the argument struct through address
/// arithmetic and around loops.
void find_scalar_types(const Program& program, CValues& values);

/// How often operations make or use a vector as one of which type class; inner ones count more.
using ClassCounts = std::map<std::string, int64_t>;
std::vector<ClassCounts> count_classes(const Program& program);  ///< per value
/// Empty when nobody asks for any.
std::string commonest(const ClassCounts& counts);

}  // namespace tw
