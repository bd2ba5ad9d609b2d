// Weights whose codes are numbers of rows of a grid (ggml's IQ3, IQ2 and IQ1): to and from flat
// rows, which have what the grid's rows hold, as packers read them. The grids are the host's own:
// rows that we make up are given to its function that makes floats of rows.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

#include "integrations/ggml/get_rows.h"

namespace tw::ggml {

struct Grid;

/// Null: the type has no grid, or it holds what we have no codes for.
std::shared_ptr<const Grid> read_grid(int32_t type, ToFloats* to_floats);
/// By the host's function, for the life of the process. Null if it has none, too.
const Grid* find_grid(int32_t type);

/// A row of k values as ggml has it to its flat form (tw_rhs_order tells that), and back.
void flatten(const Grid& grid, size_t k, const uint8_t* row, uint8_t* flat);
void unflatten(const Grid& grid, size_t k, const uint8_t* flat, uint8_t* row);

}  // namespace tw::ggml
