// Weights as callers have them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/case.h"

namespace tw::test {

bool is_ggml(const tw_packer& packer);
/// Scales as an array of that type.
std::vector<uint8_t> scale_bytes(const std::vector<float>& scales, const std::string& type);
/// Rows of k codes, of n codes, or of ggml's blocks, as the packer reads them.
std::vector<uint8_t> rhs_source(const Matmul& problem, const Case& test, const tw_packer& packer);

}  // namespace tw::test
