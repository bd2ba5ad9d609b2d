// What this machine can not run, so that nobody takes it for a fault that nothing catches.
#pragma once

#include <string>

#include "faults/fault.h"

namespace tw::test {

/// The features that the ISA in the names of a host's native tests needs and this machine lacks;
/// "": it can run them. Tests of the interpreter run everywhere.
std::string missing_here(const CatchingTest& test);

}  // namespace tw::test
