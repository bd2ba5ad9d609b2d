// The types of values that tensors of GGUF files have.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace tw {

struct GgufType {
  uint32_t number;
  std::string_view name;
  uint64_t block;  ///< values of a row that stand together; 0: not needed here
  uint64_t bytes;  ///< of such a block
};

/// Null for numbers without a name here.
const GgufType* find_gguf_type(uint32_t number);
/// "Q4_0"; "type 99" for one that has no name here.
std::string gguf_type_name(uint32_t number);

}  // namespace tw
