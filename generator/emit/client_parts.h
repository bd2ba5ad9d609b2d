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
std::string client_checks(const std::vector<std::string>& conditions);
std::string client_return(const std::string& value);
/// Statements for parameters that nothing here reads.
std::string unused(const std::vector<std::string>& parameters);
ClientParameters with(ClientParameters some, const ClientParameters& more);

/// "kai_get_..." of a number.
ClientFunction getter(const std::string& what, const ClientParameters& parameters,
                      const std::string& body);
ClientFunction runner(const ClientParameters& parameters, const std::string& body);

/// An operand in panels, as those are told who use its packer.
struct PackedOperand {
  Side side = Side::lhs;
  std::string panel;         ///< C for its rows or columns
  std::string bytes;         ///< C for what a panel takes
  ClientParameters depth;    ///< what else these functions are told
  std::string check;         ///< statements of both
  bool checks_index = true;  ///< whether others than panels' first ones are refused
};
/// Where the panel of a row or a column begins.
ClientFunction packed_offset(const PackedOperand& operand);
ClientFunction packed_size(const PackedOperand& operand);

/// What an operand's functions are told beside k.
ClientParameters block_parameter(const Layout& layout);
std::string row_bytes_call(const Layout& layout);
std::string check_blocks(const Layout& layout);
/// "usual": what codes stand for where a call does not say.
std::string usual_table(const Format& format);
/// What is the same in all runs of packers of an operand: `rows` of k values from `source` on.
std::string pack_args(const std::string& rows, const std::string& operand,
                      const std::string& source);

// client_floats.cpp
/// Where rows of floats begin, which are not packed.
ClientFunction lhs_offset(const ClientMatmul& matmul);
/// Whether there is one row only, which is not packed.
bool has_one_row(const ClientMatmul& matmul);
/// That "m_idx" is the first row of a step.
std::string check_row(const ClientMatmul& matmul);
/// Whether columns of outputs that are apart are refused: those of floats are so by older names
/// only.
bool checks_strides(const ClientMatmul& matmul);
/// Of packers that fill panels of one shape.
std::vector<ClientFunction> panel_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                   const std::vector<ClientCode>& codes);

// client_chunks.cpp
/// Whether pointers tell the rows of activations.
bool is_indirect(const Variant& kernel);
/// What such kernels are told of them.
std::string indirect_args(const ClientMatmul& matmul);
/// As call_by_rows().
std::string call_by_table_rows(const ClientMatmul& matmul, const std::vector<ClientCode>& codes);
/// Functions of k that are told its chunks.
std::vector<ClientFunction> told_in_chunks(std::vector<ClientFunction> functions,
                                           const Layout& layout);
/// What packs weights: plain C where chunks end within groups, else `call` of generated code.
std::string call_for_chunks(const ClientPacker& packer, const Layout& layout,
                            const std::string& call);
/// Rows of activations that pointers tell.
ClientFunction run_chunk_rows(const ClientPacker& packer, const Layout& layout);

// client_depthwise.cpp
/// Of weights of depthwise convolutions.
std::vector<ClientFunction> tap_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 const std::vector<ClientCode>& codes);

// client_packers.cpp
/// Where rows are that are packed: which parameters tell it, and where row "m_idx" begins.
ClientParameters lhs_rows(const std::string& type);
ClientFunction lhs_rows_offset(const std::string& check);
/// Of packers of quantized operands.
std::vector<ClientFunction> lhs_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code);
std::vector<ClientFunction> rhs_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code);
/// Likewise of weights whose offsets the caller gives, too.
std::vector<ClientFunction> offset_packer_functions(const ClientPacker& packer,
                                                    const Layout& layout);
/// Activations in floats that are rounded for weights in blocks, in panels of any shape.
std::vector<ClientFunction> float_row_functions(const ClientPacker& packer, const Layout& layout);
/// Likewise of weights in rows of blocks with their scales.
std::vector<ClientFunction> row_packer_functions(const ClientPacker& packer, const Layout& layout,
                                                 bool has_code);

}  // namespace tw
