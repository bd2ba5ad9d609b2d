// A tiny ISA with instruction rows, and a Program that was selected and allocated for it by hand.
#pragma once

#include "helpers.h"

namespace tw::test {

/// 16-byte vectors in v0-v3, scalars in r0-r3. Rows:
///   load_row        d = load(p)[o]                            o: 8 unsigned bits times 16
///   store_row       store(p, x)[o]
///   add_row         d = add.32(a, b)
///   dot_row         d = dot4_u8s8(c, a, load_dup.32(p)[o+4])  d tied to c
///   load_pair       d0 = load(p)[o]; d1 = load(p)[o+16]       consecutive registers
///   load_step       d = load(p); q = iadd_imm(p)[16]          q tied to p
///   clobber_row     d = add.32(a, a); e = add.32(b, b)        d is written before b is read
///   low_row         d = zero()                                v0 and v1 only
Isa tiny_isa();

/// A selected operation.
Op row_op(const Isa& isa, const std::string& row, std::vector<Value> results,
          std::vector<Value> args, std::vector<Length> immediates = {});

struct Selected {
  std::unique_ptr<Isa> isa;
  Program program;
  Value acc, w, sum;
};

/// dst = load(lhs) + dot4_u8s8 of load(lhs)[16] and the 4 codes at lhs + 36, everywhere.
Selected select_dots();

/// Runs it with this `input` at lhs; what the 16 bytes at dst are then.
Bytes run_selected(const Program& program, const Bytes& input, bool physical);

}  // namespace tw::test
