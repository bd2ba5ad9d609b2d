// What the functions under another library's names are made of: parameters and statements in C.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emit/client_functions.h"

namespace tw {

using ClientParameters = std::vector<std::string>;

/// As a statement; what it checks holds wherever callers keep to the header.
std::string client_check(const std::string& condition);
std::string client_return(const std::string& value);
ClientParameters with(ClientParameters some, const ClientParameters& more);

/// What an operand's functions are told beside k.
ClientParameters block_parameter(const Layout& layout);
std::string row_bytes_call(const Layout& layout);
std::string check_blocks(const Layout& layout);

/// Of packers of quantized operands.
std::vector<ClientFunction> lhs_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code);
std::vector<ClientFunction> rhs_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code);

/// Likewise of weights in rows of blocks with their scales.
std::vector<ClientFunction> row_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code);

}  // namespace tw
