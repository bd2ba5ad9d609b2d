// The types of values that tensors of GGUF files have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

struct GgufType {
  uint32_t number;
  std::string_view name;
  uint64_t block;           ///< values of a row that stand together; 0: not needed here
  uint64_t bytes;           ///< of such a block
  std::string family;       ///< that multiplies with it; empty: none
  std::string_view scales;  ///< of its blocks: "f16"; empty: there are none
};

/// Null for numbers without a name here.
const GgufType* find_gguf_type(uint32_t number);
const GgufType* find_gguf_type(std::string_view name);
/// "Q4_0"; "type 99" for one that has no name here.
std::string gguf_type_name(uint32_t number);
/// Names of those that there are families for, in the order of their numbers.
std::vector<std::string_view> served_types();

}  // namespace tw
