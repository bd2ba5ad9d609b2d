// What the verifier refuses, message by message.
#include <gtest/gtest.h>

#include <stdexcept>

#include "helpers.h"

namespace tw::test {
namespace {

/// The verifier's message for a Program written with the Builder; "" when it is fine.
std::string wrong(const Isa& isa, const Write& write) {
  try {
    written(isa, write);
  } catch (const std::logic_error& error) {
    return std::string(error.what()).substr(std::string("test: ").size());
  }
  return "";
}

/// The same for one operation without arguments of its own (`p` is a pointer, `v` a vector).
std::string wrong_op(OpCode code, const std::string& args, Builder::With with) {
  return wrong(fixed16(), [&](Builder& b, Value p, Value) {
    Value v = b.op(OpCode::zero, {}, {}, "v");
    Value h = b.op(OpCode::zero, {}, {.bytes = 8}, "h");
    Value q = b.op(OpCode::pred_all, {}, {.bits = 32}, "q");
    auto value = [&](char letter) {
      return letter == 'v' ? v : letter == 'h' ? h : letter == 'q' ? q : p;
    };
    std::vector<Value> values;
    for (char letter : args) values.push_back(value(letter));
    if (values.empty()) b.op(code, {}, with, "d");
    if (values.size() == 1) b.op(code, {values[0]}, with, "d");
    if (values.size() == 2) b.op(code, {values[0], values[1]}, with, "d");
    if (values.size() == 3) b.op(code, {values[0], values[1], values[2]}, with, "d");
  });
}

TEST(Verifier, OperationsAlone) {
  struct Case {
    OpCode code;
    std::string args;
    Builder::With with;
    std::string message;
  };
  const Case cases[] = {
      {OpCode::add, "vv", {.bits = 32}, ""},
      {OpCode::add, "v", {.bits = 32}, "d = add.32(v): it has 1 arguments, must have 2"},
      {OpCode::add,
       "vp",
       {.bits = 32},
       "d = add.32(v, lhs): argument 2 is a scalar, must be a vector"},
      {OpCode::iadd, "vp", {}, "d = iadd(v, lhs): argument 1 is a vector, must be a scalar"},
      {OpCode::store_pred,
       "vpv",
       {.bits = 32},
       "store_pred.32(v, lhs, v): argument 1 is a vector, must be a predicate"},
      {OpCode::tile_row, "vp", {}, "d = tile_row(v, lhs): argument 1 is a vector, must be a tile"},
      {OpCode::add, "vv", {}, "d = add.0(v, v): the lane width is 0 bits, must be 8, 16, 32 or 64"},
      {OpCode::add,
       "vv",
       {.bits = 128},
       "d = add.128(v, v): the lane width is 128 bits, must be 8, 16, 32 or 64"},
      {OpCode::load_dup,
       "p",
       {.bits = 24},
       "d = load_dup.24(lhs): the lane width is 24 bits, must be 8, 16, 32, 64 or 128"},
      {OpCode::fadd,
       "vv",
       {.bits = 32},
       "d = fadd.32(v, v): it has a lane width (32 bits), must have none"},
      {OpCode::fadd,
       "vv",
       {.offset = 4},
       "d = fadd(v, v)[4]: it has an offset (4), must have none"},
      {OpCode::fadd, "vv", {.imm = 4}, "d = fadd(v, v): it has an immediate (4), must have none"},
      {OpCode::add,
       "vh",
       {.bits = 32},
       "d = add.32(v, h): its vectors have 16 and 8 bytes, must be equally long"},
      {OpCode::shl,
       "v",
       {.bits = 16, .imm = 16},
       "d = shl.16(v, #16): the shift is 16, must be 0 to 15"},
      {OpCode::ishr, "p", {.imm = 64}, "d = ishr(lhs, #64): the shift is 64, must be 0 to 63"},
      {OpCode::dup_lane,
       "v",
       {.bits = 32, .imm = 4},
       "d = dup_lane.32(v, #4): the lane is 4, must be 0 to 3"},
      {OpCode::store_lane,
       "ph",
       {.bits = 8, .imm = 8},
       "store_lane.8(lhs, h, #8): the lane is 8, must be 0 to 7"},
      {OpCode::load_lane,
       "vp",
       {.bits = 64, .imm = -1},
       "d = load_lane.64(v, lhs, #-1): the lane is -1, must be 0 to 1"},
      {OpCode::dot4_s8s8_lane,
       "vvv",
       {.imm = 4},
       "d = dot4_s8s8_lane(v, v, v, #4): the lane is 4, must be 0 to 3"},
      {OpCode::fma_lane,
       "vvv",
       {.imm = 4},
       "d = fma_lane(v, v, v, #4): the lane is 4, must be 0 to 3"},
      {OpCode::fmul_lane,
       "vv",
       {.imm = 4},
       "d = fmul_lane(v, v, #4): the lane is 4, must be 0 to 3"},
      {OpCode::splat,
       "",
       {.bits = 8, .imm = 256},
       "d = splat.8(#256): the value is 256, must be -128 to 255"},
      {OpCode::arg, "p", {.imm = 43}, "d = arg(lhs, #43): the field is 43, must be 0 to 42"},
      {OpCode::load,
       "p",
       {.bytes = 257},
       "d:257 = load(lhs): a vector of 257 bytes, must be 1 to 256"},
      {OpCode::fadd,
       "hh",
       {.bytes = 6},
       "d:6 = fadd(h, h): a vector of 6 bytes, must be a multiple of 4"},
      {OpCode::mmla_s8s8,
       "hhh",
       {},
       "d:8 = mmla_s8s8(h, h, h): a vector of 8 bytes, must be a multiple of 16"},
      {OpCode::zip_lo,
       "hh",
       {.bits = 8},
       "d:8 = zip_lo.8(h, h): a vector of 8 bytes, must be a multiple of 16"},
      {OpCode::uzp_odd,
       "vv",
       {.bits = 128},
       "d = uzp_odd.128(v, v): a vector of 16 bytes, must have an even number of lanes"},
      {OpCode::pair_add,
       "hh",
       {.bits = 64},
       "d:8 = pair_add.64(h, h): a vector of 8 bytes, must have an even number of lanes"},
      {OpCode::move_segments,
       "vv",
       {},
       "d = move_segments(v, v, #0): a vector of 16 bytes, must be a multiple of 32"},
      {OpCode::narrow_32_8,
       "v",
       {.bytes = 8},
       "d:8 = narrow_32_8(v): it makes 8 bytes of 16, must make 4"},
      {OpCode::cvt_f16_f32,
       "h",
       {.bytes = 8},
       "d:8 = cvt_f16_f32(h): it makes 8 bytes of 8, must make 16"},
      {OpCode::cvt_bf16_f32,
       "h",
       {.bytes = 8},
       "d:8 = cvt_bf16_f32(h): it makes 8 bytes of 8, must make 16"},
      {OpCode::load_pred, "qp", {.bits = 32}, ""},
      {OpCode::load_pred,
       "qp",
       {.bits = 8},
       "d = load_pred.8(q, lhs): the predicate has 4 lanes, the vector 16 lanes of 1 bytes"},
      {OpCode::mode_enter, "", {.imm = 0}, "mode_enter(#none): the mode is 0, must be 1 to 3"},
  };
  for (const Case& c : cases) EXPECT_EQ(wrong_op(c.code, c.args, c.with), c.message);
}

TEST(Verifier, ShapesOfTiles) {
  struct Shape {
    int64_t rows, bytes;
  };
  const auto product = [](Shape sums, Shape x, Shape y) {
    return wrong(fixed16(), [&](Builder& b, Value, Value) {
      const auto zero = [&](Shape s, const char* name) {
        return b.op(OpCode::tile_zero, {}, {.bytes = s.bytes, .rows = s.rows}, name);
      };
      const Value c = zero(sums, "c");
      const Value a = zero(x, "a");
      b.op(OpCode::tile_dot4_s8u8, {c, a, zero(y, "b")}, {}, "d");
    });
  };
  const std::string d = "d = tile_dot4_s8u8(c, a, b): ";
  EXPECT_EQ(product({3, 8}, {3, 16}, {4, 8}), "");
  EXPECT_EQ(product({3, 8}, {2, 16}, {4, 8}),
            d + "argument 2 has 2 rows of 16 bytes, must have 3 rows of 16 bytes");
  EXPECT_EQ(product({3, 8}, {3, 12}, {4, 8}),
            d + "argument 2 has 3 rows of 12 bytes, must have 3 rows of 16 bytes");
  EXPECT_EQ(product({3, 8}, {3, 16}, {4, 12}),
            d + "argument 3 has 4 rows of 12 bytes, must have 4 rows of 8 bytes");
  EXPECT_EQ(product({3, 6}, {3, 16}, {4, 6}),
            "c = tile_zero(): a tile of 3 rows of 6 bytes, must be of rows of whole lanes of 4, up "
            "to 256");
}

TEST(Verifier, ScalableLanesMustExistAtEveryLength) {
  auto lane = [](int64_t imm) {
    return wrong(scalable(), [&](Builder& b, Value, Value) {
      Value v = b.op(OpCode::zero, {}, {}, "v");
      b.op(OpCode::dup_lane, {v}, {.bits = 32, .imm = imm}, "d");
    });
  };
  EXPECT_EQ(lane(3), "");
  EXPECT_EQ(lane(4), "d = dup_lane.32(v, #4): the lane is 4, must be 0 to 3");
}

/// A Program of constants to spoil.
Program three_constants() {
  return written(fixed16(), [](Builder& b, Value, Value) {
    for (const char* name : {"x", "y", "z"}) b.op(OpCode::constant, {}, {}, name);
  });
}

TEST(Verifier, DefinitionsAndUses) {
  Program twice = three_constants();
  std::get<Op>(twice.body.nodes[4]).results[0] = 3;
  EXPECT_EQ(verify(twice), "x = constant(#0): x is defined twice");

  Program early = three_constants();
  Op& use = std::get<Op>(early.body.nodes[2]);
  use.code = OpCode::icopy;
  use.args = {5};
  EXPECT_EQ(verify(early), "x = icopy(z): z is used before its definition");

  Program none = three_constants();
  std::get<Op>(none.body.nodes[3]).args = {no_value};
  EXPECT_EQ(verify(none), "y = constant(none, #0): value -1 does not exist");
  std::get<Op>(none.body.nodes[3]).args = {99};
  EXPECT_EQ(verify(none), "y = constant(?99, #0): value 99 does not exist");

  Program two = three_constants();
  std::get<Op>(two.body.nodes[4]).results.push_back(two.add_value({}, "extra"));
  EXPECT_EQ(verify(two), "z, extra = constant(#0): it has 2 results, must have 1");

  Program registers = three_constants();
  registers.registers = {0};
  EXPECT_EQ(verify(registers), "the argument: 1 registers for 6 values");
}

TEST(Verifier, ValuesStayInTheirRegion) {
  EXPECT_EQ(wrong(fixed16(),
                  [](Builder& b, Value p, Value) {
                    Value inside = no_value;
                    b.branch(p, Compare::equal, p,
                             [&] { inside = b.op(OpCode::icopy, {p}, {}, "inside"); });
                    b.op(OpCode::icopy, {inside}, {}, "d");
                  }),
            "d = icopy(inside): inside is used outside of the region that defines it");
  EXPECT_EQ(wrong(fixed16(),
                  [](Builder& b, Value p, Value) {
                    Value param = no_value;
                    b.loop("m", p, {p}, [&](const std::vector<Value>& v) {
                      param = v[0];
                      b.rename(param, "row", Role::address);
                      return v;
                    });
                    b.branch(param, Compare::equal, p, [] {});
                  }),
            "if equal: row is used outside of the region that defines it");
}

TEST(Verifier, Loops) {
  EXPECT_EQ(wrong(fixed16(),
                  [](Builder& b, Value p, Value) {
                    b.loop("m", p, {p},
                           [](const std::vector<Value>&) { return std::vector<Value>{}; });
                  }),
            "loop m: it has 1 inits, 1 params, 0 yields and 1 results, must be equally many");
  EXPECT_EQ(wrong(fixed16(),
                  [](Builder& b, Value p, Value) {
                    b.loop("m", p, {p}, [&](const std::vector<Value>&) {
                      return std::vector<Value>{b.op(OpCode::zero, {}, {}, "v")};
                    });
                  }),
            "loop m: lhs and v are one loop variable, but a scalar of length 8 and a vector of "
            "length 16");
  EXPECT_EQ(wrong(fixed16(),
                  [](Builder& b, Value, Value) {
                    b.loop("m", b.op(OpCode::zero), {},
                           [](const std::vector<Value>&) { return std::vector<Value>{}; });
                  }),
            "loop m: its count is a vector, must be a scalar");
  EXPECT_EQ(wrong(fixed16(),
                  [](Builder& b, Value p, Value) {
                    b.stepped_loop("m", p, 0, {},
                                   [](const std::vector<Value>&) { return std::vector<Value>{}; });
                  }),
            "loop m: its step is 0, must be positive");
  EXPECT_EQ(wrong(fixed16(),
                  [](Builder& b, Value p, Value) {
                    b.hot_loop("k", p, {}, 1, [&](const std::vector<Value>&) {
                      b.op(OpCode::frame_load, {}, {.imm = 0}, "d");
                      return std::vector<Value>{};
                    });
                  }),
            "d = frame_load(#0): frame_load is not allowed in a hot loop");
  EXPECT_EQ(wrong(fixed16(), [](Builder& b, Value p,
                                Value) { b.branch(b.op(OpCode::zero), Compare::below, p, [] {}); }),
            "if below: its left side is a vector, must be a scalar");
}

TEST(Verifier, FrameSlots) {
  Program program = written(
      fixed16(), [](Builder& b, Value p, Value) { b.op(OpCode::frame_store, {p}, {.imm = 2}); });
  EXPECT_EQ(program.frame_slots, 3);
  program.frame_slots = 2;
  EXPECT_EQ(verify(program), "frame_store(lhs, #2): the frame slot is 2, must be 0 to 1");
}

TEST(Verifier, ModesAreBalanced) {
  auto modes = [](const std::vector<std::pair<OpCode, int64_t>>& list) {
    return wrong(fixed16(), [&](Builder& b, Value, Value) {
      for (auto [code, mode] : list) b.op(code, {}, {.imm = mode});
    });
  };
  const OpCode in = OpCode::mode_enter;
  const OpCode out = OpCode::mode_leave;
  EXPECT_EQ(modes({{in, 1}, {in, 2}, {out, 2}, {out, 1}}), "");
  EXPECT_EQ(modes({{in, 1}}),
            "mode_enter(#streaming): mode streaming is entered and not left in the same region");
  EXPECT_EQ(modes({{out, 1}}),
            "mode_leave(#streaming): mode streaming is not the last one entered in this region");
  EXPECT_EQ(modes({{in, 1}, {in, 2}, {out, 1}, {out, 2}}),
            "mode_leave(#streaming): mode streaming is not the last one entered in this region");
  EXPECT_EQ(modes({{in, 2}, {in, 2}, {out, 2}, {out, 2}}),
            "mode_enter(#accumulator_tiles): mode accumulator_tiles is entered twice");
  EXPECT_EQ(wrong(fixed16(),
                  [&](Builder& b, Value p, Value) {
                    b.op(in, {}, {.imm = 1});
                    b.branch(p, Compare::equal, p, [&] { b.op(out, {}, {.imm = 1}); });
                  }),
            "mode_leave(#streaming): mode streaming is not the last one entered in this region");
}

}  // namespace
}  // namespace tw::test
