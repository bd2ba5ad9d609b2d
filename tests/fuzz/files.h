// What the targets that read YAML share: files to read from, and what an error must look like.
#pragma once

#include <filesystem>
#include <string_view>

#include "spec/isa_reader.h"
#include "spec/yaml_reader.h"

namespace tw::fuzz {

/// A folder of this process with copies of the shipped templates, removed at its end.
const std::filesystem::path& scratch();

void write(const std::filesystem::path& file, std::string_view text);

/// Ends the process unless the message is one line "FILE:line:column: what", and not endless.
void check_message(const SpecError& error);

/// Reads a spec and lowers the first of its small variants. Errors that a person could cause are
/// checked and dropped, all others go on.
void read_and_lower(const std::filesystem::path& spec, IsaLibrary& isas);

}  // namespace tw::fuzz
