// Variant -> Program: a whole kernel, every edge included. Names no ISA and
// no instruction: it asks the ISA which operations exist.
#pragma once

#include <optional>

#include "ir/program.h"
#include "model/variant.h"

namespace tw {

/// Throws std::invalid_argument, saying what would be legal, when tile, knobs or layouts do not go
/// together. `totals_in_registers`: at most movable_totals(); the others stand in memory, and rows'
/// values of a block are loaded one by one (default: registers hold all of them).
Program lower(const Variant& variant, std::optional<int64_t> totals_in_registers = std::nullopt);
/// Vectors that a tile's blocks add up in, where those need not all stand in registers; else 0.
int64_t movable_totals(const Variant& variant);
/// The same of a depthwise convolution, which lower() calls.
Program lower_depthwise(const Variant& variant);
/// ... of which this is for several lines of outputs at a time (model/depthwise.h).
Program lower_depthwise_lines(const Variant& variant);
/// Likewise of a stage of attention.
Program lower_attention(const Variant& variant);
/// Of a family that makes floats of packed codes.
Program lower_decode(const Variant& variant);
/// Throws std::invalid_argument where such panels are not decoded to codes of 8 bits.
void check_codes(const Variant& variant);
/// Of what a decoder writes, in columns; 0: it is another kernel.
Length decoded_panel(const Variant& variant);

}  // namespace tw
