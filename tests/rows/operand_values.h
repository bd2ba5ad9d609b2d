// Values for operands: the corners of what the operation reads, and random ones.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tw::test {

size_t bytes_of(Element element);

/// What the operation reads its argument as; lanes are s8, s16, i32 or numbers.
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
