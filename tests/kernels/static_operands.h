// Cases of kernels whose activations and outputs are codes.
#pragma once

#include "kernels/case.h"
#include "reference/static_reference.h"

namespace tw::test {

/// The case's weights, with activations, bias and numbers of its own; most outputs are within the
/// codes.
StaticMatmul as_static(const Matmul& problem, const Case& test);

}  // namespace tw::test
