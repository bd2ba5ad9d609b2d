// What the operations on values compute, as plain functions on bytes. No memory, no Program.
// Vectors are little-endian bytes as in memory (so is the machine that this runs on); predicates
// are one byte per lane, 0 or 1; tiles are (4 svl) rows of (4 svl) i32.
#pragma once

#include <cstddef>
#include <cstdint>

#include "model/operation.h"

namespace tw {

/// Result of an operation on scalars (iadd .. low_bits, constant, length, icopy). `number`: its
/// immediate or its offset at run time. Throws Fault for a division by zero.
uint64_t scalar_operation(OpCode code, int64_t number, uint64_t a, uint64_t b, uint64_t c);

/// An operation that makes a vector from vectors, a scalar (dup) or nothing (zero, splat).
struct VectorOperation {
  OpCode code{};
  int bits = 0;
  int64_t imm = 0;
  size_t bytes = 0;            ///< of the result
  size_t arg_bytes = 0;        ///< of the first vector argument
  const uint8_t* arg[3] = {};  ///< dup: the scalar's 8 bytes
};

/// Writes the result to `to`, which overlaps no argument. Throws Fault where the operation list
/// leaves the result open (cvt_f32_i32 out of range).
///
/// fmin(a, b) = a < b ? a : b and fmax(a, b) = a > b ? a : b: with a NaN, or with two zeros, the
/// result is b, on every ISA. Results of arithmetic that are NaNs may have any sign and payload.
void vector_operation(const VectorOperation& in, uint8_t* to);

/// pred_all, pred_first, pred_bits: `lanes` flags.
void predicate_operation(OpCode code, size_t lanes, uint64_t scalar, uint8_t* to);

/// tile += outer product, 4 deep, of the rows in b and the columns in c. Bytes whose flag is 0
/// count as 0. Vectors have 16 svl bytes, so do the predicates.
void outer_product(int64_t svl, const uint8_t* b, const uint8_t* c, const uint8_t* b_active,
                   const uint8_t* c_active, uint8_t* tile);
/// The same of 32-bit floats, one deep: a flag a float, products of which one is 0 are not added.
void outer_product_f32(int64_t svl, const uint8_t* b, const uint8_t* c, const uint8_t* b_active,
                       const uint8_t* c_active, uint8_t* tile);

/// f16 bits to f32, exact.
float half_to_float(uint16_t half);

}  // namespace tw
