// One layer in double precision, from the weights' values: what the forward pass must come near.
#pragma once

#include <vector>

#include "gemma2b/model.h"

namespace tw::gemma {

/// Of layer 0 on rows at positions 0 and following: what it adds to them.
std::vector<double> layer_reference(const Sizes& sizes, Scheme scheme,
                                    const std::vector<float>& rows);

/// Root mean square of the difference, in parts of the reference's.
double relative_error(const std::vector<double>& want, const std::vector<double>& got);

}  // namespace tw::gemma
