// What assembly files are made of beside the instructions: templates/file/assembly.yaml and the
// object formats, templates/object/*.yaml.
#pragma once

#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "model/convention.h"

namespace tw {

/// Texts hold {symbol} where the function's name goes. Keys of maps are architectures.
struct ObjectFormat {
  std::string name;
  std::string condition;    ///< of the preprocessor
  std::string local_label;  ///< prefix
  std::map<std::string, Convention> conventions;
  std::vector<std::string> function_begin, function_end;
  std::map<std::string, std::vector<std::string>> hot_loop;  ///< before a hot loop's label
  std::map<std::string, std::vector<std::string>> foot;      ///< after the function
  std::vector<std::string> file_end;                         ///< outside of the conditions
};

struct Dialect {
  std::string comment;
  std::map<std::string, std::string> guards;  ///< architecture -> condition
  std::vector<ObjectFormat> objects;          ///< that one text serves
};

/// Throws SpecError.
Dialect read_dialect(const std::filesystem::path& templates_dir);

/// For files that serve one object format, without conditions.
Dialect only(Dialect dialect, const std::string& object);

/// Where a file for `architecture` has any content. Throws std::runtime_error when the dialect does
/// not know it.
std::string assembly_guard(const Dialect& dialect, const std::string& architecture);

}  // namespace tw
