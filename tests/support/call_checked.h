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
  int split_rows = 0;             ///< as take_split_rows() has them
};

/// What a kernel and a packer have in common.
using Function = void (*)(const void* args);

/// Calls `function(args)` with a pattern in every callee-saved register. A fault ends the call, not
/// the test. Not for use from several threads.
CallReport call_checked(Function function, const void* args);

/// What CallReport::signal means.
std::string fault_name(int signal);

/// "rbx d8": the names of the registers in CallReport::clobbered.
std::string register_names(uint64_t clobbered);

/// What our assembly leaves alone but a compiler may not: x18, which belongs to the platform (not
/// to Linux), and clean upper halves, which unoptimized code does not care for.
uint64_t compilers_choice();

}  // namespace tw::test
