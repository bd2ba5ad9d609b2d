// templates/isa/NAME.yaml -> Isa. The format: docs/instruction-tables.md.
#pragma once

#include <filesystem>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "model/isa.h"
#include "spec/yaml_reader.h"

namespace tw {

/// Reads and checks a table and those that it extends. Throws SpecError.
Isa read_isa(const std::filesystem::path& templates_dir, const std::string& name);

/// Reads each ISA once and keeps it: the references stay valid as long as the library. Threads may
/// share one.
class IsaLibrary {
 public:
  explicit IsaLibrary(std::filesystem::path templates_dir) : dir_(std::move(templates_dir)) {}

  /// `asked_at`: where the name was written, for the error that an unknown one gives.
  const Isa& get(const std::string& name, const Where& asked_at = {});
  /// Names of all tables, those that only others extend included.
  [[nodiscard]] std::vector<std::string> known() const;
  [[nodiscard]] const std::filesystem::path& templates_dir() const { return dir_; }

 private:
  std::filesystem::path dir_;
  std::mutex guards_isas_;
  std::map<std::string, std::unique_ptr<const Isa>> isas_;
};

/// Throws SpecError unless what a table extends is one of the folder, KINDs, and none that
/// `extended_by` names.
void check_extends(const YamlNode& extends, std::string_view kind,
                   const std::filesystem::path& folder,
                   const std::vector<std::string>& extended_by);

/// Throws SpecError for a name that is none.
Technique read_technique(const YamlNode& node);

/// Names of the YAML files of a folder, without their extension, sorted.
std::vector<std::string> yaml_names(const std::filesystem::path& folder);

}  // namespace tw
