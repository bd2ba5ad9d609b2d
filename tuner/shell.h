// Commands for shells.
#pragma once

#include <string>

#include "tuner/child.h"

namespace tw::tuner {

/// As one word of a shell.
std::string as_word(const std::string& text);

/// `command` as the user's shell splits it, with `arguments` behind it as they are.
Words shell_words(const std::string& command, const Words& arguments);

/// A variable of the environment; `otherwise` if it is unset or empty.
std::string environment(const char* name, const char* otherwise);

}  // namespace tw::tuner
