// Targets that have a shell of their own: over ssh, on a phone.
#pragma once

#include <string>

#include "tuner/child.h"
#include "tuner/target.h"

namespace tw::tuner {

/// As run_on_target, of a target that is one of these; `job` is a file.
void run_remote(const Target& target, const std::string& program, const std::string& job,
                const Line& on_line);

}  // namespace tw::tuner
