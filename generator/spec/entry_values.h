// Values of a spec's entries. All throw SpecError.
#pragma once

#include <vector>

#include "model/variant.h"
#include "spec/yaml_reader.h"

namespace tw {

/// A value, or a list of values without repetitions.
std::vector<const YamlNode*> alternatives(const YamlNode& node);
const Format* read_format(const YamlNode& node);
/// What products are added up as.
ElementType read_sums(const YamlNode& node);
/// The type of scales that blocks have.
ElementType read_scales(const YamlNode& node);
ElementType read_bias(const YamlNode& node);
/// What rows of activations hold: f32, f16, bf16; or s8, which is i8, where they may be codes.
ElementType read_source(const YamlNode& node, bool codes);
/// One of these, or qai8, which is i8.
ElementType read_output(const YamlNode& node);
/// What decoders make: f32, bf16; or s8, which is i8.
ElementType read_decoded(const YamlNode& node);

/// Whose packed operands.
LayoutStyle read_layout(const YamlNode& node);
/// A tile's rows and its columns.
Length read_tile_m(const YamlNode& node);
Length read_tile_n(const YamlNode& node);
/// All pairs of them: `tile: {m: [1, 4], n: 8}`.
std::vector<Tile> read_tiles(const YamlNode& node);

}  // namespace tw
