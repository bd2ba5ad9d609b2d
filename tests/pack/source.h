// Operands as packers' users hold them, of random values, and what is in them.
#pragma once

#include <cstdint>
#include <random>
#include <vector>

#include "pack/case.h"
#include "reference/pack_reference.h"
#include "reference/static_reference.h"

namespace tw::test {

bool is_lhs(const tw_packer& packer);

/// A source as its user holds it.
struct Source {
  size_t stride = 0;
  std::vector<uint8_t> bytes;  ///< nothing behind the last value's byte
  std::vector<uint8_t> scales;
  size_t scale_stride = 0;
  std::vector<float> bias;
  std::vector<uint8_t> zeros;  ///< points, of columns, as the scales are
};

OperandCodes make_source(const tw_packer& packer, const PackCase& c, const LayoutText& layout,
                         std::mt19937& random, Source& source);

bool is_static(const LayoutText& layout);
/// What weights for static activations are told beside scales and bias, whose bits are any.
StaticMatmul static_numbers(const PackCase& c, const Source& source, const OperandCodes& codes);
/// Both folded in.
void fold(const StaticMatmul& in, OperandCodes& codes);

}  // namespace tw::test
