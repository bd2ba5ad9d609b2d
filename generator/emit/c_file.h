// A C file around printed functions: includes, architecture guard, linkage.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/isa.h"

namespace tw {

/// templates/file/c.yaml.
struct CFileRules {
  std::map<std::string, std::string> guards;  ///< architecture -> preprocessor condition
  std::vector<std::string> before_functions;
  std::vector<std::string> before_portable_kernel, after_portable_kernel;
};

/// Throws SpecError.
CFileRules read_c_file_rules(const std::filesystem::path& templates_dir);

/// The condition under which code for `isa` is compiled; empty: always. Throws SpecError
/// when the rules do not know its architecture.
const std::string& c_guard(const CFileRules& rules, const Isa& isa);

/// The function of a kernel, with what stands around it in the file of a portable one.
std::string kernel_function(const CFileRules& rules, const Isa& isa, const std::string& function);

/// A whole file without its head: it compiles as C11 and C++ without flags, to nothing on other
/// architectures. `functions` are definitions, the last one is `symbol`, which takes a pointer to
/// `args_type` and gets external linkage.
std::string c_file(const CFileRules& rules, const Isa& isa, const std::string& functions,
                   const std::string& symbol, const std::string& args_type = "tw_args");

}  // namespace tw
