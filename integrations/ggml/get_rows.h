// GGML_OP_GET_ROWS: rows of packed weights as floats, so that a model whose output multiplies by
// its token embeddings holds those once.
#pragma once

#include "integrations/ggml/ggml_abi.h"

namespace tw::ggml {

/// The host's own for its rows of a type, whose bits are thus those that it would make.
using ToFloats = void(const void* row, float* values, int64_t count);
ToFloats* find_to_floats(int32_t type);  ///< null: this host has none

/// Shapes and types that get_rows() reads; where the weights lie is another matter.
bool can_get_rows(const Tensor& op);

/// Throws std::out_of_range for a number of a row that is not there. Weights that are not packed
/// (`extra` is null) are packed for this once, as tests need it.
Status get_rows(const Tensor& op, int threads);

}  // namespace tw::ggml
