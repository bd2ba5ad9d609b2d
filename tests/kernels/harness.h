// Runs one kernel on one case, from its registry row alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/case.h"

namespace tw::test {

struct Packers {
  const tw_packer* lhs = nullptr;
  const tw_packer* nxk = nullptr;
  const tw_packer* kxn = nullptr;
  const tw_packer* ggml = nullptr;
};

/// Packs, runs, and checks everything: values, bytes outside of the portion, guard pages, operands
/// that must not change, callee-saved registers. Empty when all is well, else what is wrong.
/// `bytes`, if given, gets the output's bytes.
std::string run_case(const tw_kernel& kernel, const Packers& packers, const Case& test,
                     std::vector<uint8_t>* bytes = nullptr);

}  // namespace tw::test
