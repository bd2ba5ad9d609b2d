// A Program made ready to run at one vector length: every value has a place in one array of bytes,
// every length and offset is a number, every instruction row is the operations that it means.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tw {

/// Bytes of a value: 8 of a scalar, a vector's, one per lane of a predicate, a tile's row by row.
struct Storage {
  uint8_t* at = nullptr;
  size_t bytes = 0;
  Kind kind = Kind::scalar;
  size_t rows = 0;  ///< of a tile
};

struct Move {
  Storage from, to;
};

struct PreparedLoop;
struct PreparedIf;

/// One of: an operation, a move (operations == 0 and `code` is copy), a loop, a branch.
struct Step {
  OpCode code{};
  int bits = 0;
  int64_t imm = 0;
  int64_t offset = 0;
  Storage to;
  Storage arg[10];
  int arg_count = 0;
  Mode mode = Mode::none;  ///< required by the row
  int operations = 0;      ///< 1 on the first step of an Op, to count them
  const Op* op = nullptr;  ///< for messages
  std::unique_ptr<PreparedLoop> loop;
  std::unique_ptr<PreparedIf> branch;
};

struct PreparedLoop {
  const Loop* loop = nullptr;
  Storage count;
  uint64_t step = 1;
  Storage counter;  ///< null: counted by the interpreter itself
  /// On physical registers all three are empty: a loop variable stays in its register.
  std::vector<Move> enter, again, leave;
  std::vector<Step> body;
};

struct PreparedIf {
  Compare compare{};
  Storage a, b;
  std::vector<Step> then_body, else_body;
};

struct Prepared {
  std::vector<uint8_t> bytes;  ///< all places; values nobody wrote are 0xCD
  size_t vectors_begin = 0;    ///< vectors and predicates: [vectors_begin, tiles_begin)
  size_t tiles_begin = 0;
  Storage args;
  std::vector<Step> steps;
};

/// `program` is verified, and allocated when `physical`; it outlives what is made of it. Not
/// copied: steps point into `bytes`.
std::unique_ptr<Prepared> prepare(const Program& program, VectorLength vl, bool physical);

}  // namespace tw
