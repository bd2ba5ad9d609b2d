// Values for operands: the corners of what the operation reads, and random ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tw::test {

/// How an operand's bits are read.
enum class Element { i8, i16, i32, i64, f16, f32, f32_in_i32, divisor, tile_row, tile_quarter };

size_t bytes_of(Element element);

/// What the operation reads its argument as. `f32_in_i32`: only what an i32 can hold; `divisor`:
/// an i64, but not 0; `tile_row`: an i64 that numbers a row of any tile;
/// `tile_quarter`: one that is 4 times a row.
Element element_of(const MeansNode& node, size_t argument);
/// The same of a row's operand, by the first operation that takes it.
Element element_of(const Row& row, const std::string& operand);
/// And of what a row reads from memory: by the operation that takes the loaded value.
Element loaded_element(const Row& row);

/// Corner values, as bits: zeros, signs, ends of the range, and for floats denormals, infinities,
/// NaNs, ties, huge ones.
const std::vector<uint64_t>& corners(Element element);

/// Any legal value, as bits; often a corner.
uint64_t random_value(Element element, std::mt19937_64& random);

}  // namespace tw::test
