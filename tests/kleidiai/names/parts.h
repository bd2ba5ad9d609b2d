// What tests of packers and of products under KleidiAI's names share: random depths, and operands
// packed in parts.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "kleidiai/names/operands.h"

namespace tw::test {

constexpr uint8_t unwritten = 0xa5;

/// Of the families with blocks as many values as a caller may have: whole blocks.
struct Depth {
  size_t k = 0, bl = 0;
};
inline Depth random_depth(bool blocks, std::mt19937& random) {
  if (!blocks) return {up_to(random() % 4 == 0 ? 600 : 130, random), 0};
  const size_t bl = std::vector<size_t>{32, 32, 64, 96, 128, 160, 256}[random() % 7];
  return {bl * up_to(bl == 32 ? 8 : 3, random), bl};
}

/// Likewise; of weights of 2 bits whole groups that their kernels take.
inline Depth random_depth(const WeightsKind& kind, std::mt19937& random) {
  Depth depth = random_depth(kind.blocks, random);
  if (kind.table) depth.k = (depth.k + 31) / 32 * 32;
  return depth;
}

inline std::vector<uint8_t> pack_rhs(const RhsPacker& packer, const ClientWeights& weights,
                                     const PanelShape& shape) {
  std::vector<uint8_t> packed(packer.packed_size(weights.n, weights.k, shape), unwritten);
  packer.run(weights.n, weights.k, shape, weights.from(), packed.data());
  return packed;
}

/// Rows of an operand packed part by part, as threads would do it.
inline std::vector<uint8_t> pack_lhs(const LhsPacker& packer, const Floats& lhs,
                                     const PanelShape& shape, size_t rows_a_part) {
  std::vector<uint8_t> packed(packer.packed_size(lhs.m, lhs.k, shape), unwritten);
  // The last one first: a part writes nothing of those behind it.
  for (size_t i = (lhs.m + rows_a_part - 1) / rows_a_part; i-- > 0;) {
    const size_t begin = i * rows_a_part;
    const size_t stride = lhs.source_stride();
    const size_t offset = packer.takes_all ? 0 : packer.offset(begin, stride);
    packer.run(std::min(rows_a_part, lhs.m - begin), lhs.k, shape, begin, lhs.source() + offset,
               stride, packed.data() + packer.packed_offset(begin, lhs.k, shape));
  }
  return packed;
}

}  // namespace tw::test
