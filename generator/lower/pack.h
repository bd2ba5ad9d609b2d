// Packers as Programs. Those of weights and of floats are whole; of activations that are quantized
// they are the inner loops, which see whole steps only: the C skeleton around them copies edges.
// Like kernels they name no ISA: they ask which operations exist.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"
#include "model/layout.h"
#include "model/sources.h"

namespace tw {

/// Whether the ISA has the moves for a packer of weights (or of floats). For none that converts.
bool can_pack(const Layout& layout, const Source& source, const Isa& isa);

/// A whole packer, of type tw_packer_fn. By an ISA that has not the moves, value by value: that of
/// plain C, whose vectors are 4 bytes.
Program lower_packer(const std::string& name, const Layout& layout, const Source& source,
                     const Isa& isa);

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
