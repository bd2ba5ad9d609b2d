// What measuring chose, as C: the table that a shipped tree finds its settings in.
#pragma once

#include <string>
#include <vector>

#include "tuner/winners.h"

namespace tw {

/// The contents of choices.c without the file's head; its rows: tilewright/choices.h.
std::string choices_file(const std::vector<tuner::Winner>& winners);

}  // namespace tw
