// Calls generated code and reports what it did to its caller: faults, and registers that the
// calling convention tells it to keep.
#pragma once

#include <cstdint>
#include <string>

namespace tw::test {

struct CallReport {
  int signal = 0;                 ///< SIGSEGV, SIGBUS or SIGILL; 0: it returned
  const void* address = nullptr;  ///< of the fault
  uint64_t clobbered = 0;         ///< a bit for each register of the tables in call_checked.cpp
};

/// What a kernel and a packer have in common.
using Function = void (*)(const void* args);

/// Calls `function(args)` with a pattern in every callee-saved register. A fault ends the call, not
/// the test. Not for use from several threads.
CallReport call_checked(Function function, const void* args);

/// "rbx d8": the names of the registers in CallReport::clobbered.
std::string register_names(uint64_t clobbered);

/// x18 belongs to the platform: our assembly never touches it, a compiler for Linux may.
uint64_t platform_register();

}  // namespace tw::test
