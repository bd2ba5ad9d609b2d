// Multiplications of codes through the public API.
#pragma once

#include <string>
#include <vector>

#include "reference/static_reference.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {

/// What a plan is made of, and what its weights and a call are told.
struct StaticCall {
  tw_matmul matmul;
  tw_rhs_source rhs;
  tw_run_args args;
};
/// Of weights with codes of so many bits, n rows of k; its pointers are into `in` and `codes`.
StaticCall static_call(const StaticMatmul& in, int bits, std::vector<uint8_t>& codes);

/// Those that run here.
std::vector<std::string> static_isas(int bits);
/// Plans, packs, runs: the outputs. `isa`: only this one.
std::vector<int8_t> run_static(const StaticMatmul& in, int bits, const char* isa);

}  // namespace tw::test
