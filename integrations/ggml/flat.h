// Rows of types that no axes describe: those whose codes are numbers of rows of a grid (grids.h),
// or five of which share a byte as digits. Packers read flat rows, which have a code for each
// value.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>

namespace tw::ggml {

struct FlatForm {
  /// A row of k values from the one to the other, whose order tw_rhs_order tells.
  std::function<void(size_t k, const uint8_t* row, uint8_t* flat)> flatten;
  std::function<void(size_t k, const uint8_t* flat, uint8_t* row)> unflatten;
};

/// For the life of the process. Null: there is none, or the host does not tell its grid.
const FlatForm* find_flat_form(int32_t type);

}  // namespace tw::ggml
