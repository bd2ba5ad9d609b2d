// The tuner's program as a file: for which system it was built.
#pragma once

#include <string>

namespace tw::tuner {

/// "Linux x86_64", as `uname -sm` says it there; "": no ELF file, or none for a system that there
/// are kernels for. Throws TargetError if it cannot be read.
std::string system_of_program(const std::string& path);

/// How to come by a program for `system`.
std::string how_to_build_for(const std::string& system);

}  // namespace tw::tuner
