// What this machine can not run, so that nobody takes it for a fault that nothing catches.
#pragma once

#include <string>

#include "faults/fault.h"

namespace tw::test {

/// The features that this machine lacks of the ISA that a test of the fault runs natively: the one
/// that the fault needs, that in the test's name, or that in the name of the generated file with
/// the fault. "": none. Tests of the interpreter run everywhere.
std::string missing_here(const Fault& fault, const CatchingTest& test);

}  // namespace tw::test
