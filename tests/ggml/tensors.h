// Tensors as ggml has them, with random contents, and what multiplying them must give.
#pragma once

#include <array>
#include <cstdint>
#include <random>
#include <vector>

#include "integrations/ggml/ggml_abi.h"
#include "integrations/ggml/packing.h"

namespace tw::ggml {

using Bytes = std::vector<uint8_t>;
using Extents = std::array<size_t, 4>;
Bytes random_bytes(std::mt19937& random, size_t count);
/// As the host writes weights, of which these are the bytes from `offset` on: of types with digits
/// no others come back.
void make_writable(int32_t type, size_t offset, Bytes& bytes);

inline constexpr int32_t kTypes[] = {
    type_f32,     type_f16,     type_q4_0,   type_q4_1,  type_q5_0,  type_q5_1,   type_q8_0,
    type_q4_k,    type_q5_k,    type_q6_k,   type_q2_k,  type_q3_k,  type_iq4_nl, type_iq4_xs,
    type_mxfp4,   type_tq2_0,   type_q2_0,   type_nvfp4, type_q1_0,  type_tq1_0,  type_iq3_s,
    type_iq3_xxs, type_iq2_xxs, type_iq2_xs, type_iq2_s, type_iq1_s, type_iq1_m};
/// Those of which this program can pack all: programs that are static find no function of the
/// host's that tells a grid.
std::vector<int32_t> types_here();

/// A tensor of its own memory, rows without gaps.
struct OwnTensor {
  Tensor tensor;
  Bytes bytes;
};
OwnTensor make_tensor(int32_t type, Extents extents);
/// So many values of k, or what fills a block of the type.
size_t whole_blocks(int32_t type, size_t k);
/// Small values, of which most types can keep few.
OwnTensor random_weights(std::mt19937& random, int32_t type, Extents extents);
OwnTensor random_floats(std::mt19937& random, Extents extents);

/// The values of a row as ggml stores it.
std::vector<float> floats_of(int32_t type, const uint8_t* row, size_t k);
/// Those of row `row`, counted through all matrices.
std::vector<float> row_of(const OwnTensor& weights, size_t row);
/// Those of all rows.
std::vector<std::vector<float>> rows_of(const OwnTensor& weights);
float float_at(const Tensor& tensor, size_t i0, size_t i1, size_t i2, size_t i3);

/// Weights packed, for as long as `packed` lives.
struct PackedTensor {
  OwnTensor source;
  Bytes memory;
  Tensor tensor;
};
PackedTensor pack(OwnTensor source);

/// Sum of w * x, that of their sizes, and by how much rounding x to 8 bits (where w is of a type
/// with blocks) or summing in another order may change it.
struct Expected {
  double sum, sizes, error;
};
Expected expected(int32_t type, const std::vector<float>& row, const std::vector<float>& input);

}  // namespace tw::ggml
