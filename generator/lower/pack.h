// The inner loops of packers as Programs. They handle whole steps only: the C skeleton around them
// (templates/file/packer_*.c) stages edges, so that they always see whole rows of whole panels.
// Like kernels they name no ISA: they ask which operations exist.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"
#include "model/layout.h"
#include "model/sources.h"

namespace tw {

/// Whether the ISA has the moves for a packer of weights (or of floats).
bool can_pack(const Layout& layout, const Source& source, const Isa& isa);

/// A whole packer, of type tw_packer_fn. By an ISA that cannot pack() it, value by value, where
/// that has plain vectors of 4 bytes. Not yet for blocks that it can.
Program lower_packer(const std::string& name, const Layout& layout, const Source& source,
                     const Isa& isa);

/// Names of C functions, and how stores leave: `stream` keeps them out of the caches.
struct PackOptions {
  std::string name;
  bool stream = false;
};

/// How the blocks of a row lie in a source.
struct SourceBlocks {
  int64_t bytes = 0;   ///< from block to block
  int64_t codes = 0;   ///< from a block's start to its codes
  bool apart = false;  ///< a byte holds values k and k + 16 of 32; else neighbours, k and k + 1
};
/// Of a source that holds what the layout does (find_source()).
SourceBlocks source_blocks(const Layout& layout, const Source& source);

/// Packs a panel's blocks of 4 or 8 bits with a scale each. tw_args: lhs = first column's first
/// block, lhs_stride between columns, k = blocks, dst = first packed block (vectors are aligned
/// there to stream), dst_stride = distance from there to the panel's f32 sums, lookup = scales as
/// they are packed, block by block; flags and rhs_prefetch as above. Adds scale * (sum of the
/// block's codes) to each sum.
bool can_pack_blocks(const Layout& layout, const Isa& isa);
Program lower_pack_blocks(const Layout& layout, const Isa& isa, const SourceBlocks& source,
                          const PackOptions& options);

/// Floats that one step of the LHS Programs takes, of which `together` are quantized alike; 0 when
/// the ISA lacks an operation.
int64_t lhs_step(const Isa& isa, Rounding rounding, int64_t together);

/// Lowest and highest of n steps of `step` floats at lhs, and 0: two vectors of f32 at dst. A third
/// one: zeros, and a NaN in a lane that met an infinity or a NaN (which may be missing from the
/// others).
Program lower_row_range(const Isa& isa, const std::string& name, int64_t step);

/// What lower_quantize_row() finds at tw_args::lookup: code = round(clamp(x * factor)) +
/// zero_point, which never leaves int8 and equals clamping afterwards.
/// The scale, which the packed block keeps, stands behind them.
enum class QuantizeParameter { factor, lowest, highest, zero_point, scale, count };  // i32: the 4th

/// Quantizes n steps of `step` floats at lhs to bytes at dst; stores a vector of i32, whose lanes
/// add up to the sum of the codes, at dst + dst_stride.
Program lower_quantize_row(const Isa& isa, const std::string& name, Rounding rounding,
                           int64_t step);

/// Values of k that blocks have a multiple of.
inline constexpr int64_t block_step = 32;

/// How many floats a block has: tw_args::block, a multiple of twice block_step; or block_step,
/// which takes no loop.
enum class BlockLength { argument, step };

/// Whether it does what follows.
bool can_quantize_blocks(const Isa& isa, Rounding rounding);

/// The largest magnitude of each of n blocks at lhs, infinite where an infinity or a NaN is: an f32
/// each at dst, where a whole vector is written from each place on.
Program lower_block_ranges(const Isa& isa, const std::string& name, BlockLength length);

/// Quantizes n blocks at lhs, each with its own QuantizeParameters in a row at lookup, to bytes at
/// dst; the sum of each block's codes, an i32, at dst + dst_stride, likewise in whole vectors.
Program lower_quantize_blocks(const Isa& isa, const std::string& name, Rounding rounding,
                              BlockLength length);

/// True when the ISA has streaming stores and the fence that must follow the last of them.
bool can_stream(const Isa& isa);

}  // namespace tw
