// Products as a user of the run time makes them.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/tilewright.hpp"

namespace tw::test {

/// [m][n] outputs of `bytes` each. `args`: the clamp and the zero point of outputs.
std::vector<uint8_t> planned_product(const tw_matmul& matmul, const tw_rhs_source& weights,
                                     const tw_lhs_source& rows, size_t m, size_t bytes,
                                     tw_run_args args);

/// Likewise as floats.
std::vector<float> planned_floats(const tw_matmul& matmul, const tw_rhs_source& weights,
                                  const std::vector<float>& rows, float min, float max);

}  // namespace tw::test
