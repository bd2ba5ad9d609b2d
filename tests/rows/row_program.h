// The smallest Program that runs one row of an instruction table: it reads the row's operands from
// a buffer, executes the row, and stores everything that the row makes. Built from the table alone.
//
// tw_args::lhs is the buffer of operands; the row's memory is at rhs (read) or dst (written); the
// results go to dst + dst_stride.
#pragma once

#include <string>
#include <vector>

#include "ir/program.h"

namespace tw::test {

/// Of ISAs whose vectors have a length that only the machine knows: 2048 bits.
constexpr VectorLength longest_vectors{16, 16};

/// A row with a number for each of its immediates.
struct RowUse {
  const Isa* isa = nullptr;
  const Row* row = nullptr;
  std::vector<Length> immediates;
};

/// "vpsrlw, templates/isa/avx512_vnni.yaml:80, i=15"
std::string to_string(const RowUse& use);

/// A row with each of its immediates at its ends and at some values between, as far as the row's
/// operations allow them.
std::vector<RowUse> row_uses(const Isa& isa, const Row& row);

/// A value in a buffer.
struct Slot {
  std::string operand;
  Type type;
  size_t offset = 0;
  size_t bytes = 0;
  int float_bytes = 0;      ///< of lanes of which a NaN may have any bits; 0: none are floats
  bool is_address = false;  ///< made from the row's pointer: counts from the memory's first byte
};

struct RowProgram {
  Program lowered;   ///< the row as the operations that it means
  Program selected;  ///< the row as itself
  std::vector<Slot> inputs;
  std::vector<Slot> outputs;  ///< what the row makes; then, if kept, its arguments
  size_t input_bytes = 0;
  size_t output_bytes = 0;
  std::string pointer;  ///< the argument that is an address; empty: none
  bool writes = false;  ///< through the pointer
};

/// `keep`: arguments are stored after the row, so they live through it and are seen to be
/// unchanged. Throws std::runtime_error for a row that no such Program can run.
RowProgram row_program(const RowUse& use, bool keep);

/// The instruction `op` of `program` that is the row.
const Op& row_op(const RowProgram& program);

}  // namespace tw::test
