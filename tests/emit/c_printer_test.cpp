#include "emit/c_printer.h"

#include <gtest/gtest.h>

#include "ir/builder.h"
#include "small_isa.h"

namespace tw {
namespace {

using With = Builder::With;

std::string printed(Program program) {
  return print_c_function(program, "f");
}

/// One dot product a row of dst, with everything that a kernel has: pointers that walk, an
/// accumulator, a cast, an optional pointer.
Program rows_of_dots(const Isa& isa) {
  Builder b("rows", isa);
  const Value dst = b.arg(ArgField::dst);
  const Value m = b.arg(ArgField::m);
  const Value steps = b.op(OpCode::ishr, {b.arg(ArgField::k)}, {.imm = 2}, "k_steps");
  b.stepped_loop("m", m, 1, {b.arg(ArgField::lhs), dst}, [&](const std::vector<Value>& p) {
    const Value start = b.op(OpCode::zero, {}, {}, "acc", Role::accumulator);
    const std::vector<Value> sums = b.hot_loop(
        "k", steps, {start, p[0], b.arg(ArgField::rhs)}, 4, [&](const std::vector<Value>& q) {
          const Value a = b.op(OpCode::load, {q[1]}, {}, "a");
          const Value w = b.op(OpCode::load, {q[2]}, {.offset = 16}, "w");
          const Value next = b.op(OpCode::dot4_u8s8, {q[0], a, w}, {}, "acc", Role::accumulator);
          return std::vector<Value>{next, b.add(q[1], 4), b.add(q[2], 4)};
        });
    const Value bias = b.arg(ArgField::bias);
    const Value from = b.op(OpCode::if_null, {bias, b.arg(ArgField::lookup), bias}, {}, "from");
    const Value real = b.op(OpCode::cvt_i32_f32, {sums[0]}, {}, "real");
    const Value out = b.op(OpCode::fadd, {real, b.op(OpCode::load, {from}, {}, "term")}, {}, "out");
    b.op(OpCode::store, {p[1], out}, {});
    return std::vector<Value>{b.op(OpCode::iadd, {p[0], b.arg(ArgField::lhs_stride)}),
                              b.op(OpCode::iadd, {p[1], b.arg(ArgField::dst_stride)})};
  });
  return b.finish();
}

TEST(CPrinter, MemoryOfItsOwnBeginsAtACacheLineWhereAddressesAreAligned) {
  Isa isa = small_isa();
  const auto text = [&] {
    Builder b("f", isa);
    b.op(OpCode::store, {b.scratch(40), b.op(OpCode::zero)});
    return printed(b.finish());
  };
  EXPECT_NE(text().find("\n  uint8_t scratch_memory[40];"), std::string::npos) << text();
  isa.rules.align_address = "round {r}";
  EXPECT_NE(text().find("\n  TW_ALIGNAS(64) uint8_t scratch_memory[40];"), std::string::npos)
      << text();
}

TEST(CPrinter, Golden) {
  const Isa isa = small_isa();
  EXPECT_EQ(printed(rows_of_dots(isa)), R"(void f(const tw_args* args) {
  const size_t k_steps = args->k >> 2;
  const uint8_t* lhs = (const uint8_t*)args->lhs;
  uint8_t* dst = (uint8_t*)args->dst;
  // m loop
  for (size_t i_m = 0; i_m < args->m; ++i_m) {
    int32_t acc = 0;
    const uint8_t* lhs_at = lhs;
    const uint8_t* rhs = (const uint8_t*)args->rhs;
    // k loop: 4 multiply-accumulates per iteration
    for (size_t i_k = 0; i_k < k_steps; ++i_k) {
      const int32_t a = tw_load_i32(lhs_at);
      const int32_t w = tw_load_i32(rhs + 16);
      acc = tw_dot4_u8s8(acc, a, w);
      lhs_at += 4;
      rhs += 4;
    }
    const uint8_t* const bias = (const uint8_t*)args->bias;
    const uint8_t* const from = bias == NULL ? (const uint8_t*)args->lookup : bias;
    const float real = (float)acc;
    const float term = tw_f32_of_bits(tw_load_i32(from));
    const float out = (real + term);
    tw_store_i32(dst, tw_bits_of_f32(out));
    lhs += args->lhs_stride;
    dst += args->dst_stride;
  }
}
)");
}

TEST(CPrinter, ValuesThatChangePlacesGoThroughAThird) {
  const Isa isa = small_isa();
  Builder b("swap", isa);
  const Value dst = b.arg(ArgField::dst);
  const Value x = b.op(OpCode::load, {dst}, {}, "x");
  const Value y = b.op(OpCode::load, {dst}, {.offset = 4}, "y");
  const std::vector<Value> both =
      b.loop("turn", b.arg(ArgField::m), {x, y}, [](const std::vector<Value>& p) {
        return std::vector<Value>{p[1], p[0]};
      });
  b.op(OpCode::store, {dst, both[0]}, {});
  b.op(OpCode::store, {dst, both[1]}, {.offset = 4});
  EXPECT_EQ(printed(b.finish()), R"(void f(const tw_args* args) {
  uint8_t* const dst = (uint8_t*)args->dst;
  int32_t x = tw_load_i32(dst);
  int32_t y = tw_load_i32(dst + 4);
  // turn loop
  for (size_t i_turn = 0; i_turn < args->m; ++i_turn) {
    int32_t next_x = y;
    y = x;
    x = next_x;
  }
  tw_store_i32(dst, x);
  tw_store_i32(dst + 4, y);
}
)");
}

TEST(CPrinter, AValueThatIsStillNeededKeepsItsVariable) {
  const Isa isa = small_isa();
  Builder b("keep", isa);
  const Value dst = b.arg(ArgField::dst);
  const Value start = b.op(OpCode::zero, {}, {}, "acc", Role::accumulator);
  const Value count = b.arg(ArgField::k);
  const std::vector<Value> sum =
      b.hot_loop("k", count, {start}, 1, [&](const std::vector<Value>& p) {
        const Value next = b.op(OpCode::add, {p[0], b.op(OpCode::load, {dst})}, {.bits = 32}, "acc",
                                Role::accumulator);
        b.op(OpCode::store, {dst, p[0]}, {});  // the old value, after the new one was made
        return std::vector<Value>{next};
      });
  b.op(OpCode::store, {dst, sum[0]}, {.offset = 4});
  EXPECT_EQ(printed(b.finish()), R"(void f(const tw_args* args) {
  uint8_t* const dst = (uint8_t*)args->dst;
  int32_t acc = 0;
  const size_t k = args->k;
  // k loop: 1 multiply-accumulates per iteration
  for (size_t i_k = 0; i_k < k; ++i_k) {
    const int32_t v = tw_load_i32(dst);
    const int32_t acc_2 = tw_add_i32(acc, v);
    tw_store_i32(dst, acc);
    acc = acc_2;
  }
  tw_store_i32(dst + 4, acc);
}
)");
}

TEST(CPrinter, ScalarsAndBranches) {
  const Isa isa = small_isa();
  Builder b("scalars", isa);
  const Value dst = b.arg(ArgField::dst);
  const Value m = b.arg(ArgField::m);
  const Value least = b.op(OpCode::imin, {m, b.constant(8)}, {}, "least");
  const Value rest = b.op(OpCode::isub_sat, {m, least}, {}, "rest");
  const Value area = b.op(OpCode::imul, {b.op(OpCode::iadd, {rest, m}), rest}, {}, "area");
  const Value mask = b.op(OpCode::low_bits, {b.constant(-1), rest}, {}, "mask");
  const Value next =
      b.op(OpCode::if_null,
           {b.op(OpCode::isub_sat, {m, b.constant(4)}), dst, b.op(OpCode::iadd, {dst, area})}, {},
           "next");
  b.branch(
      m, Compare::at_least, b.constant(32),
      [&] {
        b.op(OpCode::store, {next, b.op(OpCode::dup, {mask}, {.bits = 32})}, {});
      },
      [&] {
        b.op(OpCode::store, {next, b.op(OpCode::zero, {})}, {.offset = 1 << 20});
      });
  EXPECT_EQ(printed(b.finish()), R"(void f(const tw_args* args) {
  uint8_t* const dst = (uint8_t*)args->dst;
  const size_t m = args->m;
  const size_t least = m < 8 ? m : 8;
  const size_t rest = m > least ? m - least : 0;
  const size_t area = (rest + m) * rest;
  const uint64_t mask =
      rest >= 64 ? (uint64_t)(size_t)-1 : (uint64_t)(size_t)-1 & (((uint64_t)1 << rest) - 1);
  uint8_t* const next = m > 4 ? dst + area : dst;
  if (m >= 32) {
    const int32_t v = (int32_t)mask;
    tw_store_i32(next, v);
  } else {
    const int32_t v = 0;
    tw_store_i32(next + 1048576, v);
  }
}
)");
}

TEST(CPrinter, WhatNobodyUsesIsNotPrinted) {
  const Isa isa = small_isa();
  Builder b("unused", isa);
  const Value dst = b.arg(ArgField::dst);
  b.op(OpCode::add, {b.op(OpCode::load, {dst}, {}, "x"), b.op(OpCode::zero, {})}, {.bits = 32});
  b.op(OpCode::store, {dst, b.op(OpCode::zero, {}, {}, "none")}, {});
  EXPECT_EQ(printed(b.finish()), R"(void f(const tw_args* args) {
  const int32_t none = 0;
  tw_store_i32((uint8_t*)args->dst, none);
}
)");
}

Operand tile_operand(const std::string& name, const std::string& file, bool is_result = false) {
  Operand operand = vector_operand(name, is_result, file);
  operand.kind = Kind::tile;
  operand.file = file;
  return operand;
}

/// A tile of four columns times codes: files of two shapes, which have C types of their own.
TEST(CPrinter, TilesByTheirShape) {
  Isa isa = small_isa();
  isa.files = {{"t", Kind::tile, 16, 2, {}, {}}, {"a", Kind::tile, 8, 2, {}, {}}};
  isa.c_types["t"] = "tile";
  isa.c_types["a"] = "codes";
  const Operand p = pointer_operand("p"), s = pointer_operand("s");
  const Operand sum = tile_operand("d", "t", true), x = tile_operand("x", "t");
  for (const char* file : {"t", "a"}) {
    isa.rows.push_back(c_row_of(OpCode::tile_load, 0, std::string("get_") + file + "({at}, {s})",
                                "", {tile_operand("d", file, true), p, s}));
  }
  isa.rows.push_back(c_row_of(OpCode::tile_zero, 0, "clear(&{d})", "", {sum}));
  isa.rows.push_back(c_row_of(OpCode::tile_store, 0, "put({at}, {s}, {x})", "", {p, s, x}));
  isa.rows.push_back(c_row_of(OpCode::tile_dot4_s8u8, 0, "dot({c}, {a}, {x})", "",
                              {sum, tile_operand("c", "t"), tile_operand("a", "a"), x}));
  Builder b("tiles", isa);
  const Value from = b.arg(ArgField::lhs);
  const Value row = b.arg(ArgField::lhs_stride);
  const Value codes = b.op(OpCode::tile_load, {from, row}, {.bytes = 8, .rows = 2}, "a");
  const Value weights = b.op(OpCode::tile_load, {from, row}, {.offset = 64}, "b");
  const Value zero = b.op(OpCode::tile_zero, {}, {}, "zero");
  const Value sums = b.op(OpCode::tile_dot4_s8u8, {zero, codes, weights}, {}, "sums");
  b.op(OpCode::tile_store, {b.arg(ArgField::dst), row, sums});
  EXPECT_EQ(printed(b.finish()), R"(void f(const tw_args* args) {
  const uint8_t* const lhs = (const uint8_t*)args->lhs;
  const size_t lhs_stride = args->lhs_stride;
  const codes a = get_a(lhs, lhs_stride);
  const tile b = get_t(lhs + 64, lhs_stride);
  tile zero;
  clear(&zero);
  const tile sums = dot(zero, a, b);
  put((uint8_t*)args->dst, lhs_stride, sums);
}
)");
}

TEST(CPrinter, SaysWhatTheTableLacks) {
  Isa isa = small_isa();
  isa.where = {"small.yaml", 1, 1};
  Builder b("lacks", isa);
  const Value dst = b.arg(ArgField::dst);
  b.op(OpCode::store, {dst, b.op(OpCode::splat, {}, {.bits = 8, .imm = 15})}, {});
  const Program program = b.finish();
  try {
    print_c_function(program, "f");
    FAIL() << "it was printed";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "small.yaml:1:1: no row with C text for splat.8 (needed by lacks)");
  }
}

TEST(CPrinter, SaysWhichCastIsMissing) {
  Isa isa = small_isa();
  isa.where = {"small.yaml", 1, 1};
  isa.c_casts.erase("f>i");
  Builder b("casts", isa);
  const Value dst = b.arg(ArgField::dst);
  const Value x = b.op(OpCode::load, {dst});
  b.op(OpCode::store, {dst, b.op(OpCode::fadd, {x, x})}, {});
  const Program program = b.finish();
  try {
    print_c_function(program, "f");
    FAIL() << "it was printed";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "small.yaml:1:1: c: casts: needs \"f>i\"");
  }
}

}  // namespace
}  // namespace tw
