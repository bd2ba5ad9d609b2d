// The mini-language of `means:` in instruction tables: what an instruction does, as operations.
//   means     = statement { ";" statement }
//   statement = [ name "=" ] call
//   call      = operation [ "." bits ] "(" [ argument { "," argument } ] ")" [ "[" attribute "]" ]
//   argument  = call | name | "#" attribute
//   attribute = number | length | name [ ("+" | "-") length ]
#pragma once

#include <string>
#include <vector>

#include "model/isa.h"

namespace tw {

struct Means {
  std::vector<MeansNode> nodes;         ///< inner results before the nodes that use them
  std::vector<Operand> operands;        ///< name, kind, is_result; results first
  std::vector<std::string> immediates;  ///< names, in order of appearance
};

/// Throws std::invalid_argument, "column N: message", for whatever operation.h does not allow:
/// unknown operations, wrong argument counts and kinds, missing or surplus attributes, names used
/// for two things.
Means parse_means(const std::string& text);

}  // namespace tw
