// Tunings of a test run whatever else is tuned on this machine: what they measure does not matter.
#pragma once

#include <unistd.h>

#include <cstdlib>
#include <string>

namespace tw {

inline const int own_lock =
    setenv("TILEWRIGHT_LOCK", ("test " + std::to_string(getpid())).c_str(), 1);

}  // namespace tw
