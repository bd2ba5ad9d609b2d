// What to do about what ssh, adb and shells complain of.
#pragma once

#include <string>

#include "tuner/child.h"
#include "tuner/target.h"

namespace tw::tuner {

/// An error's text from how a command ended: what it said, or its status in words, and what to do.
/// `folder` is where the program is there; "": nowhere yet.
TargetError target_error(const Target& target, const Exit& ended, const std::string& folder);

/// The one environment variable that advice names, too.
inline constexpr const char* kFolderVariable = "TILEWRIGHT_TARGET_FOLDER";

}  // namespace tw::tuner
