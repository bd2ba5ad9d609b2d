// Cases of kernels whose activations are codes, and outputs codes, too, or sums.
#pragma once

#include "kernels/case.h"
#include "reference/static_reference.h"
#include "reference/sums_reference.h"

namespace tw::test {

/// The case's weights, with activations, bias and numbers of its own; most outputs are within the
/// codes.
StaticMatmul as_static(const Matmul& problem, const Case& test);
/// The same whose outputs are the sums; zero points of columns are the case's, whole numbers.
SumsMatmul as_sums(const Matmul& problem, const StaticMatmul& codes);

}  // namespace tw::test
