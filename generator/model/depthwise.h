// Depthwise convolutions: each channel of the input is multiplied with taps of its own. Channels
// stand in lanes; a tile is so many neighboring outputs of one line (m) by so many channels (n).
#pragma once

#include "model/variant.h"

namespace tw {

/// Pixels as their user keeps them, and weights in panels of a vector of channels: taps as depth,
/// behind them the bias (and scales). Of KleidiAI's a panel is a vector of values of that type, and
/// the bias, of that type, stands first. Throws std::invalid_argument with what would be legal.
LayoutPair depthwise_layouts(const Family& family, const Isa& isa, LayoutStyle style);

/// "dwconv_clamp_f32_f32_f32p8x1_3x3s1_4x8_avx2".
std::string depthwise_name(const Variant& variant);

/// Lines of outputs, one below the other, that some kernels make at a time: then m of a tile is
/// their number, and a call makes outputs of all of them. They add up taps a column of the window
/// after the other, as KleidiAI's do, whose tests compare sums that are nearly 0, too; others a
/// line after the other.
constexpr int64_t depthwise_lines = 4;
bool makes_lines(const Variant& variant);

/// Columns of input pixels that a tile's outputs lie on.
int64_t columns_of(const Window& window, int64_t outputs);

}  // namespace tw
