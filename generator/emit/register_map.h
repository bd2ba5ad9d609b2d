// Which values stand in which register, for people.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tw {

/// Printed name of an allocated value's register in a view (empty: the default one). `file`: index
/// into Isa::files.
std::string register_name(const Isa& isa, int file, int index, std::string_view view = {});

struct RegisterUse {
  std::string name;
  std::vector<std::string> values;  ///< names of the values, in order of appearance
};
/// Registers that hold something in the loop, file by file in the files' order.
std::vector<RegisterUse> register_map(const Program& program, const Loop& loop);

}  // namespace tw
