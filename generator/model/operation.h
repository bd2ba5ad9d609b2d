// The operation list: what a Program can say. Each operation has one exact meaning, the same on
// every ISA; `ir/interpreter` executes it, instruction tables refer to it in `means:`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

/// What a value is. Pointers and counters are scalars of 8 bytes.
enum class Kind { scalar, vector, predicate, tile };
std::string_view name(Kind kind);

/// State that instructions require. A Program of an ISA that can enter a mode is in it from end to
/// end (Builder), if it has a use for it.
enum class Mode {
  none,
  streaming,          ///< vectors are as long as the tiles' rows
  accumulator_tiles,  ///< there are tiles, of the shapes that the table's registers have
  nibble_table        ///< the table that `nibbles` looks codes up in is loaded
};
constexpr auto last_mode = static_cast<int64_t>(Mode::nibble_table);

/// Fields of tw_args (runtime/include/tilewright/kernel.h), in the struct's order.
/// 64-bit offsets are 8 * index; the floats min and max share the slot `clamp`. Behind them those
/// of tw_pack_args, in that one's order: what packers get instead.
enum class ArgField {
  size,
  m,
  n,
  k,
  block,
  lhs,
  lhs_stride,
  lhs_pad,
  lhs_offset,
  lhs_chunk_stride,
  rhs,
  rhs_stride,
  dst,
  dst_stride,
  bias,
  clamp,  ///< its ADDRESS: float min, float max, and behind them the zero point
  dst_zero_point,
  lookup,
  flags,
  rhs_prefetch,
  heads,
  rhs_head_stride,
  count,
  pack_size = count,
  pack_rows,
  pack_k,
  pack_row_begin,
  pack_row_end,
  pack_block,
  pack_source,
  pack_source_stride,
  pack_scales,
  pack_bias,
  pack_packed,
  pack_packed_stride,
  pack_flags,
  pack_vector_bytes,
  pack_scale_stride,
  pack_sum_factor,  ///< its ADDRESS; the base of sums stands behind it
  pack_sum_copies,
  pack_scale_copies,
  pack_lhs_zero_point,  ///< its ADDRESS; the scales of lhs and dst stand behind it
  pack_dst_scale,
  pack_zero_points,
  all_count
};
std::string_view name(ArgField field);
/// Whether `arg` gives the ADDRESS of the field, for two numbers that share it.
bool is_address(ArgField field);

// An operation is one row in operations_*.h, which says everything that is known about it:
//
//   OP(name, operands, attributes, meaning, facts)
//
// `operands`: a word for each argument, "->" and the word of the result, if it has one. Vectors are
// bits; the word says how the operation reads them (Element).
// `attributes`, in the order in which text has them (`d = load_lane.128(v, p, #2)[16]`):
//   b  lane width in bits, after the name:    add.32
//   i  immediate, after a hash:               shl.16(a, #4)
//   o  memory offset in bytes, in brackets:   load(p)[64]
// `meaning`: what it computes, for the interpreter alone: a function or one of the forms in
// ir/meaning_forms.h, where a, b, c are the arguments and i the immediate.
// `facts`: members of OpFacts that differ from the usual.

enum class OpCode {
#define OP(name, ...) name,
#include "model/operations.h"
#undef OP
};

/// How an operand is read, and with it the values that are legal and worth a test.
enum class Element {
  number,     ///< n: a scalar
  divisor,    ///< a scalar, not 0
  below_256,  ///< a scalar, at most 255
  tile_row,   ///< row: a scalar that numbers a row of any tile
  four_rows,  ///< a scalar, 4 times the number of a row of any tile
  row_bytes,  ///< a scalar: from row to row of a tile in memory
  lanes,      ///< v: of the operation's lane width; bytes, where it has none
  s8,
  u8,
  below_16,  ///< bytes, at most 15
  s16,
  i32,  ///< signed or not is all the same
  f16,
  bf16,
  f32,
  i32_float,  ///< f32 in the range of i32
  flags       ///< p: a predicate
};

struct OperandType {
  std::string_view word;
  Kind kind;
  Element element;
  int bytes;  ///< of a lane; 0: as the operation's lane width says, or of no lanes
};

/// What the lengths of an operation's vectors are.
enum class Lengths {
  equal,
  lanes,        ///< the result has as many lanes as the argument
  one_segment,  ///< of the result
  two_or_four_segments,
  tile_product,  ///< of tiles: what four bytes of the second's rows times the third's rows fill
  any
};

/// What a vector's length is a multiple of.
enum class Whole { lane, two_lanes, segment, two_segments };

/// What bounds an immediate from above.
enum class Last {
  none,
  number,
  bit,   ///< of a lane
  lane,  ///< of the first vector at the shortest vector length
  segment,
  slot,   ///< of the frame
  value,  ///< of a lane, signed or unsigned
  choice_of_lanes,
  choice_of_segments
};

struct ImmediateRange {
  std::string_view what;
  Last last = Last::none;
  int64_t number = 0;
  int64_t first = 0;
};

/// Memory effects: what may not move past what.
enum class MemoryUse { none, reads, writes, prefetches };

/// What a kernel is there for, as opposed to feeding it. Outer products grow with vectors in both
/// directions.
enum class Work { other, products, outer_products };

struct OpFacts {
  int min_bits = 8, max_bits = 128;  ///< lane widths it exists for
  Whole whole = Whole::lane;
  Lengths lengths = Lengths::equal;
  MemoryUse memory = MemoryUse::none;
  ImmediateRange immediate = {};
  Work work = Work::other;
  bool commutes = false;  ///< its first two arguments
  bool slow = false;      ///< not for hot loops
};

struct OpInfo {
  std::string_view name;  ///< as written in text, without a trailing underscore
  std::string_view args;  ///< one letter per argument: s scalar, v vector, p predicate, t tile
  char result;            ///< likewise; '-' for none
  std::string_view attributes;      ///< letters out of "bio"
  const OperandType* const* types;  ///< of the arguments, then of the result
  OpFacts facts;
  [[nodiscard]] bool has(char attribute) const {
    return attributes.find(attribute) != std::string_view::npos;
  }
  [[nodiscard]] bool takes(char kind) const { return args.find(kind) != std::string_view::npos; }
  [[nodiscard]] size_t operands() const { return args.size() + (result == '-' ? 0 : 1); }
};

const OpInfo& info(OpCode code);
std::optional<OpCode> find_operation(std::string_view name);
std::vector<std::string> operation_names();

/// The kind that a letter of OpInfo::args or OpInfo::result stands for.
Kind kind_of(char letter);

bool reads_memory(OpCode code);
bool writes_memory(OpCode code);
bool prefetches(OpCode code);
/// A slot of the function's own frame.
bool uses_frame(OpCode code);

}  // namespace tw
