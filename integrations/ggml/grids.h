// Flat rows of weights whose codes are numbers of rows of a grid (ggml's IQ3, IQ2 and IQ1): codes
// stand for what the grid's rows hold. The grids are the host's own: rows that we make up are given
// to its function that makes floats of rows.
#pragma once

#include <memory>

#include "integrations/ggml/flat.h"
#include "integrations/ggml/get_rows.h"

namespace tw::ggml {

/// Null: the type has no grid, or it holds what we have no codes for.
std::shared_ptr<const FlatForm> read_grid(int32_t type, ToFloats* to_floats);

}  // namespace tw::ggml
