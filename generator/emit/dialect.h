// An object format's directives: templates/file/elf.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace tw {

/// Texts hold {symbol} where the function's name goes.
struct Dialect {
  std::string comment;
  std::string local_label;                    ///< prefix
  std::map<std::string, std::string> guards;  ///< architecture -> condition
  std::vector<std::string> function_begin, function_end;
  std::string hot_loop;                                  ///< before a hot loop's label
  std::map<std::string, std::vector<std::string>> foot;  ///< architecture -> lines
  std::vector<std::string> file_end;                     ///< outside of the guard
};

/// templates/file/NAME.yaml. Throws SpecError.
Dialect read_dialect(const std::filesystem::path& templates_dir, const std::string& name = "elf");

}  // namespace tw
