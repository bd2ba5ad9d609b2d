// C files of micro-kernels under another library's names (emit/client_functions.h): headers where
// that library has them, structs of function pointers, and sources that call our kernels and
// packers. Without their heads (licence, origin).
#pragma once

#include <string>
#include <vector>

#include "emit/client_functions.h"

namespace tw {

/// The path of the header of a micro-kernel, or of the family's struct, as clients include it.
std::string client_header(const ClientMatmul& matmul);
std::string client_header(const ClientPacker& packer);
std::string client_header(const ClientDepthwise& depthwise);
std::string client_interface(const ClientMatmul& matmul);
std::string client_interface(const ClientDepthwise& depthwise);

std::string print_client_header(const std::string& name,
                                const std::vector<ClientFunction>& functions);
/// Likewise for a packer, whose struct may have another name.
std::string print_client_header(const ClientPacker& packer,
                                const std::vector<ClientFunction>& functions);
/// `functions`: of any micro-kernel of the family, `pointers`: what the struct of them is named
/// after.
std::string print_client_interface(const std::string& family, const std::string& pointers,
                                   const std::vector<ClientFunction>& functions);

/// `guard`: what the code is for.
std::string print_client_source(const ClientMatmul& matmul,
                                const std::vector<ClientFunction>& functions,
                                const std::vector<ClientCode>& codes, const std::string& guard);
std::string print_client_source(const ClientDepthwise& depthwise,
                                const std::vector<ClientFunction>& functions,
                                const ClientCode& code, const std::string& guard);
std::string print_client_source(const ClientPacker& packer,
                                const std::vector<ClientFunction>& functions,
                                const std::vector<ClientCode>& codes, const Layout& layout,
                                const std::string& guard);

std::string print_client_source(const ClientStructPacker& packer,
                                const std::vector<ClientFunction>& functions);

/// The list of a matmul: "MATMULS", of floats others.
std::string client_list_name(const ClientMatmul& matmul);
std::string client_list_name(const ClientDepthwise& depthwise);
/// The list of a packer: "LHS_PACKERS", "RHS_PACKERS", of blocks and of floats others.
std::string client_list_name(const ClientPacker& packer, const Layout& layout);

/// One micro-kernel as lists have it.
struct ClientEntry {
  std::string header;  ///< empty: none, the list declares it
  std::string name;
  std::string family;     ///< of matmuls, as their struct is called, empty for packers ...
  std::string interface;  ///< ... and its struct's header
  std::string list;       ///< that has it, for tests: of those with the same parameters
  std::string plain;      ///< of packers: what fills panels that no code here does
  std::vector<ClientFunction> functions;
  std::vector<ClientCode> codes;
};
/// A table of them, in Markdown: the name, and our code behind it.
std::string print_client_table(const std::vector<ClientEntry>& entries);
/// A header that includes all of them, with macros that list them: for tests.
std::string print_client_list(const std::string& version, const std::vector<ClientEntry>& entries);

}  // namespace tw
