// The functions that a micro-kernel under another library's name consists of: their signatures,
// each written once, and what they do. Headers, structs of function pointers and sources are
// printed from them (emit/client_files.h).
#pragma once

#include <string>
#include <vector>

#include "model/client.h"

namespace tw {

struct ClientFunction {
  std::string name;                     ///< "get_m_step", "run": kai_get_m_step_NAME, kai_run_NAME
  std::string result;                   ///< its type
  std::vector<std::string> parameters;  ///< "size_t m_idx"
  std::string body;                     ///< statements, indented
  std::string member = {};              ///< of the family's struct; empty: as the name
  bool in_struct = true;                ///< is there such a member?
};

/// Generated code for one shape of panels and one length of blocks (long ones: that of any of
/// them; 0: no blocks).
struct ClientCode {
  int64_t panel = 0;
  int64_t kr = 0;
  int block = 0;
  std::string symbol;
};

/// `codes`: those of its kernels.
std::vector<ClientFunction> matmul_functions(const ClientMatmul& matmul,
                                             const std::vector<ClientCode>& codes);
std::vector<ClientFunction> depthwise_functions(const ClientDepthwise& depthwise,
                                                const ClientCode& code);
/// `layout`: of any of the panels that it fills; `codes`: generated packers, of some of them.
std::vector<ClientFunction> packer_functions(const ClientPacker& packer, const Layout& layout,
                                             const std::vector<ClientCode>& codes);

std::vector<ClientFunction> packer_functions(const ClientStructPacker& packer);

/// C for a number, or for one that depends on the length of streaming vectors.
std::string length_text(Length length);

/// C for the bytes that a row or a column takes in packed panels of such a layout, of k and, with
/// blocks, of bl.
std::string row_bytes_text(const Layout& layout);
/// The weights' layout as callers are told it: panels of a vector have a number of columns where
/// steps do, for vectors of one length only.
Layout told_rhs(const ClientMatmul& matmul);

}  // namespace tw
