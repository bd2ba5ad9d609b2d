// Micro-kernels of convolutions and of static int8 of both libraries in one form, as libraries.h
// has others: k in chunks, of which those of plain matmuls have one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "kleidiai/names/libraries.h"

namespace tw::test {

struct Chunks {
  size_t count = 1, length = 0;
};

struct Clamp {
  float min = 0, max = 0;
  int32_t zero_point = 0;  ///< of codes
};

/// Rows of activations: `pointers` to those of each panel, chunk by chunk; alone, `rows` of one
/// chunk each.
struct ChunkRows {
  std::vector<const void*> pointers;
  size_t offset = 0;  ///< that is added to each but `pad`
  const void* pad = nullptr;
  const uint8_t* rows = nullptr;
  size_t stride = 0;
};

/// A part of an operand: packed, or of the pointers to `rows`.
struct ChunkLhs {
  const void* at = nullptr;
  const ChunkRows* rows = nullptr;
};

struct ChunkMatmul {
  bool alone = false;     ///< of one chunk
  bool one_row = false;   ///< that is not packed
  bool indirect = false;  ///< lhs are the pointers themselves
  size_t m_step = 0, n_step = 0;
  std::function<size_t(size_t m, const Chunks&)> lhs_offset;
  std::function<size_t(size_t n, const Chunks&)> rhs_offset;
  size_t (*dst_offset)(size_t m, size_t n, size_t stride) = nullptr;
  size_t (*dst_size)(size_t m, size_t n) = nullptr;
  std::function<void(size_t m, size_t n, const Chunks&, const ChunkLhs&, const void* rhs, void* dst,
                     size_t stride, const Clamp&)>
      run;
};

struct ChunkRowPacker {
  bool alone = false;
  size_t step = 0;
  std::function<size_t(size_t m, const Chunks&)> packed_offset, packed_size;
  std::function<void(size_t m, const Chunks&, const ChunkRows&, void* packed)> run;
};

struct ChunkColumns {
  const void* values = nullptr;
  size_t stride = 0;
  const void* bias = nullptr;
  const float* scales = nullptr;  ///< of codes
  int32_t lhs_zero_point = 0;
  float multiplier = 1;
};

struct ChunkColumnPacker {
  bool alone = false;
  size_t step = 0;
  std::function<size_t(size_t n, size_t stride)> offset;
  std::function<size_t(size_t n)> bias_offset, scale_offset;
  std::function<size_t(const Chunks&)> packed_stride;
  std::function<size_t(size_t n, const Chunks&)> packed_offset, packed_size;
  std::function<void(size_t n, const Chunks&, const ChunkColumns&, void* packed)> run;
};

/// All that ours has, none where there is no SME.
std::vector<Both<ChunkMatmul>> chunk_matmuls();
std::vector<Both<ChunkRowPacker>> chunk_row_packers();
std::vector<Both<ChunkColumnPacker>> chunk_column_packers();

}  // namespace tw::test
