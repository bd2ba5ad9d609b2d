#include "schedule/select.h"

#include <gtest/gtest.h>

#include "programs.h"

namespace tw::test {
namespace {

/// A hot loop that adds up `loads` vectors of `gap` bytes distance per iteration.
Program stream(const Isa& isa, int loads, int64_t step, int64_t gap = 16) {
  Builder b("stream", isa);
  const Value target = b.arg(ArgField::dst);
  const Value start = b.op(OpCode::zero);
  const std::vector<Value> results = b.hot_loop(
      "k", b.arg(ArgField::k), {b.arg(ArgField::lhs), start}, 1, [&](const std::vector<Value>& p) {
        Value sum = p[1];
        for (int i = 0; i < loads; ++i) {
          const Value x = b.op(OpCode::load, {p[0]}, {.offset = gap * i}, "x", Role::operand);
          sum = b.op(OpCode::add, {sum, x}, {.bits = 32});
        }
        return std::vector<Value>{b.add(p[0], step), sum};
      });
  b.op(OpCode::store, {target, results[1]});
  return b.finish();
}

std::vector<std::string> selected_stream(const std::string& isa, int loads, int64_t step,
                                         int loads_per_row = 0, int64_t gap = 16) {
  Program program = stream(shipped_isa(isa), loads, step, gap);
  const std::vector<uint8_t> expected = result_of(program, {3, 0, 0});
  select(program, {.loads_per_row = loads_per_row});
  EXPECT_EQ(verify(program), "");
  EXPECT_EQ(result_of(program, {3, 0, 0}), expected);
  std::vector<std::string> mnemonics;
  Program copy = clone(program);
  for (const std::string& row : hot_rows(copy)) mnemonics.push_back(row.substr(0, row.find('_')));
  return mnemonics;
}

TEST(Select, WalksInRegisterLists) {
  const std::vector<std::string> rows = selected_stream("neon_i8mm", 8, 128);
  EXPECT_EQ(count_of(rows, "ld1"), 2);
  EXPECT_EQ(rows.size(), 2U + 8U);
}

TEST(Select, WalksOnInPairsWhereListsEnd) {
  const std::vector<std::string> rows = selected_stream("neon_i8mm", 6, 96);
  EXPECT_EQ(count_of(rows, "ld1"), 1);
  EXPECT_EQ(count_of(rows, "ldp"), 1);
  EXPECT_EQ(rows.size(), 2U + 6U);
}

TEST(Select, PairsWithOffsetsWhenAskedTo) {
  const std::vector<std::string> rows = selected_stream("neon_i8mm", 8, 128, 2);
  EXPECT_EQ(count_of(rows, "ldp"), 4);
  EXPECT_EQ(rows.size(), 4U + 8U + 1U);
}

/// What other options need not be tried for.
TEST(Select, SaysWhatItMadeUseOf) {
  const auto made = [](const std::string& isa, int loads, int loads_per_row) {
    Program program = stream(shipped_isa(isa), loads, 16 * loads);
    return select(program, {.loads_per_row = loads_per_row});
  };
  EXPECT_TRUE(made("neon_i8mm", 8, 0).chained);
  EXPECT_EQ(made("neon_i8mm", 8, 0).loads_per_row, 4);
  EXPECT_FALSE(made("neon_i8mm", 8, 2).chained);
  EXPECT_EQ(made("neon_i8mm", 8, 2).loads_per_row, 2);
  EXPECT_EQ(made("neon_i8mm", 8, 1).loads_per_row, 1);
  EXPECT_FALSE(made("avx2", 8, 0).chained);
  EXPECT_EQ(made("avx2", 8, 0).loads_per_row, 0);  // additions read memory
}

TEST(Select, LoadsBetweenTwoNeighborsPairWithTheNearer) {
  Builder b("between", shipped_isa("neon_i8mm"));
  const Value source = b.arg(ArgField::lhs);
  Value sum = b.op(OpCode::zero);
  for (const int64_t offset : {0, 16, 64, 80, 32, 48, 96, 112}) {
    const Value x = b.op(OpCode::load, {source}, {.offset = offset});
    sum = b.op(OpCode::add, {sum, x}, {.bits = 32});
  }
  b.op(OpCode::store, {b.arg(ArgField::dst), sum});
  Program program = b.finish();
  select(program, {.loads_per_row = 2});
  std::vector<std::string> names;
  for_each_op(program.body, [&](const Op& op) { names.push_back(op.row->name); });
  EXPECT_EQ(count_of(names, "ldp"), 4);
}

TEST(Select, SingleLoadsWithOffsets) {
  const std::vector<std::string> rows = selected_stream("neon_i8mm", 3, 48, 1);
  EXPECT_EQ(count_of(rows, "ldr"), 3);
}

TEST(Select, GapsEndAWalk) {
  const std::vector<std::string> rows = selected_stream("neon_i8mm", 4, 128, 0, 32);
  EXPECT_EQ(count_of(rows, "ldr"), 4);
}

TEST(Select, AStepBeyondTheLoadsIsAddedAfterThem) {
  const std::vector<std::string> rows = selected_stream("neon_i8mm", 4, 80);
  EXPECT_EQ(count_of(rows, "ld1"), 1);
  EXPECT_EQ(count_of(rows, "add"), 4 + 1);
}

TEST(Select, FarOffsetsShareASum) {
  // 128-bit elements, 16 bytes apart: the field reaches -128 to 112.
  const Isa& isa = shipped_isa("sve2");
  Builder b("far", isa);
  const Value source = b.arg(ArgField::lhs);
  const Value target = b.arg(ArgField::dst);
  Value sum = b.op(OpCode::zero);
  for (int64_t i = 0; i < 16; ++i) {
    const Value x = b.op(OpCode::load_dup, {source}, {.bits = 128, .offset = 16 * i});
    sum = b.op(OpCode::add, {sum, x}, {.bits = 32});
  }
  b.op(OpCode::store, {target, sum});
  Program program = b.finish();
  select(program);
  EXPECT_EQ(verify(program), "");
  int sums = 0;
  for_each_op(program.body, [&](const Op& op) {
    sums += op.row->means.front().code == OpCode::iadd_imm ? 1 : 0;
  });
  EXPECT_EQ(sums, 1);
}

/// How many sums of a pointer and a number a Program has, once it is selected.
int sums_of_pointers(Program program) {
  select(program);
  EXPECT_EQ(verify(program), "");
  int sums = 0;
  for_each_op(program.body, [&](const Op& op) {
    const OpCode code = op.row->means.front().code;
    sums += code == OpCode::iadd_imm || code == OpCode::iadd || code == OpCode::length ? 1 : 0;
  });
  return sums;
}

TEST(Select, OffsetsBesideAMultipleShareASum) {
  Builder b("beside", shipped_isa("sve"));
  const Value source = b.arg(ArgField::lhs);
  Value sum = b.op(OpCode::zero);
  for (int64_t i = 0; i < 8; ++i) {
    const Value x = b.op(OpCode::load_dup, {source}, {.bits = 128, .offset = 8 + 16 * i});
    sum = b.op(OpCode::add, {sum, x}, {.bits = 32});
  }
  b.op(OpCode::store, {b.arg(ArgField::dst), sum});
  EXPECT_EQ(sums_of_pointers(b.finish()), 1);
}

TEST(Select, OffsetsThatNoRowAddsAreAddedOnce) {
  Builder b("odd", shipped_isa("sve"));
  const Value source = b.arg(ArgField::lhs);
  const Length far{0, 16 * 1023};
  const Value x = b.op(OpCode::load_dup, {source}, {.bits = 32, .offset = far});
  const Value y = b.op(OpCode::load_dup, {source}, {.bits = 32, .offset = far});
  const Value sum = b.op(OpCode::add, {x, y}, {.bits = 32});
  b.op(OpCode::store, {b.arg(ArgField::dst), sum});
  EXPECT_EQ(sums_of_pointers(b.finish()), 2) << "a length and its sum";
}

/// Half a vector stands in front of whole ones, and a step of a pointer is beyond these.
Program half_and_step(ArgField of_step) {
  Builder b("step", shipped_isa("sve"));
  const Value source = b.arg(ArgField::lhs);
  const Value other = of_step == ArgField::lhs ? source : b.arg(of_step);
  Value sum = b.op(OpCode::zero);
  for (int64_t i = 0; i < 4; ++i) {
    const Value x = b.op(OpCode::load, {source}, {.offset = Length{0, 8 + 16 * i}});
    sum = b.op(OpCode::add, {sum, x}, {.bits = 32});
  }
  const Value next = b.add(other, Length{0, 72});
  sum = b.op(OpCode::add, {sum, b.op(OpCode::load, {next})}, {.bits = 32});
  b.op(OpCode::store, {b.arg(ArgField::dst), sum});
  return b.finish();
}

TEST(Select, StepsBeginWhereOffsetsDo) {
  EXPECT_EQ(sums_of_pointers(half_and_step(ArgField::lhs)), 2);
  EXPECT_EQ(sums_of_pointers(half_and_step(ArgField::rhs)), 3) << "a length and its sum";
}

TEST(Select, LengthsBeyondTheFieldAreShifted) {
  const Isa& isa = shipped_isa("sve2");
  Builder b("long", isa);
  const Value target = b.arg(ArgField::dst);
  const Value source = b.add(b.arg(ArgField::lhs), Length(0, 3 * 512));
  b.op(OpCode::store, {target, b.op(OpCode::load, {source})});
  Program program = b.finish();
  select(program);
  EXPECT_EQ(verify(program), "");
  int lengths = 0;
  int shifts = 0;
  for_each_op(program.body, [&](const Op& op) {
    const OpCode code = op.row->means.front().code;
    lengths += code == OpCode::length ? 1 : 0;
    shifts += code == OpCode::ishl ? 1 : 0;
  });
  EXPECT_EQ(lengths, 1);
  EXPECT_EQ(shifts, 1);
}

TEST(Select, FoldsMemoryOperands) {
  Builder b("fold", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  const Value sum = b.op(OpCode::zero);
  const Value codes = b.op(OpCode::load, {source});
  const Value a = b.op(OpCode::load_dup, {source}, {.bits = 32, .offset = 4});
  b.op(OpCode::store, {b.arg(ArgField::dst), b.op(OpCode::dot4_u8s8, {sum, codes, a})});
  Program program = b.finish();
  const std::vector<uint8_t> expected = result_of(program, {0, 0, 0});
  select(program);
  EXPECT_EQ(result_of(program, {0, 0, 0}), expected);
  const std::vector<std::string> rows = all_rows(program);
  EXPECT_EQ(count_of(rows, "vdup"), 0);
}

TEST(Select, DoesNotFoldALoadOverAStore) {
  Builder b("store_between", fake_isa());
  const Value target = b.arg(ArgField::dst);
  const Value codes = b.op(OpCode::load, {b.arg(ArgField::lhs)});
  const Value a = b.op(OpCode::load_dup, {target}, {.bits = 32, .offset = 4});
  b.op(OpCode::store, {target, codes});
  const Value sum = b.op(OpCode::dot4_u8s8, {b.op(OpCode::zero), codes, a});
  b.op(OpCode::store, {target, sum}, {.offset = 32});
  Program program = b.finish();
  const std::vector<uint8_t> expected = result_of(program, {0, 0, 0});
  select(program);
  EXPECT_EQ(result_of(program, {0, 0, 0}), expected);
}

TEST(Select, DoesNotFoldWhatIsUsedTwice) {
  Builder b("twice", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  const Value codes = b.op(OpCode::load, {source});
  const Value a = b.op(OpCode::load_dup, {source}, {.bits = 32, .offset = 4});
  Value sum = b.op(OpCode::zero);
  for (int i = 0; i < 2; ++i) sum = b.op(OpCode::dot4_u8s8, {sum, codes, a});
  b.op(OpCode::store, {b.arg(ArgField::dst), sum});
  Program program = b.finish();
  select(program);
  EXPECT_EQ(count_of(all_rows(program), "vdup"), 1);
}

TEST(Select, SplitsOffsetsThatNoRowCanEncode) {
  Builder b("far", fake_isa());
  const Value x = b.op(OpCode::load, {b.arg(ArgField::lhs)}, {.offset = 992});
  b.op(OpCode::store, {b.arg(ArgField::dst), x});
  Program program = b.finish();
  const std::vector<uint8_t> expected = result_of(program, {0, 0, 0});
  select(program);
  EXPECT_EQ(verify(program), "");
  EXPECT_EQ(result_of(program, {0, 0, 0}), expected);
}

TEST(Select, DropsWhatNobodyUses) {
  Builder b("dead", fake_isa());
  const Value source = b.arg(ArgField::lhs);
  b.op(OpCode::add, {b.op(OpCode::load, {source}), b.op(OpCode::zero)}, {.bits = 32});
  Program program = b.finish();
  select(program);
  EXPECT_TRUE(all_rows(program).empty());
}

/// Tiles of that shape, loaded and stored.
Program move_tile(int64_t rows, int64_t bytes) {
  Builder b("tile", fake_isa("fake_wide"));
  const Value row = b.constant(64);
  const Value x =
      b.op(OpCode::tile_load, {b.arg(ArgField::lhs), row}, {.bytes = bytes, .rows = rows}, "x");
  b.op(OpCode::tile_store, {b.arg(ArgField::dst), row, x});
  return b.finish();
}

TEST(Select, RowsTakeTilesOfTheirShape) {
  const auto loads = [](int64_t rows, int64_t bytes) {
    Program program = move_tile(rows, bytes);
    try {
      select(program);
    } catch (const std::runtime_error& error) {
      return std::string(error.what());
    }
    EXPECT_EQ(verify(program), "");
    const std::vector<std::string> names = all_rows(program);
    return std::to_string(count_of(names, "tget")) + " and " +
           std::to_string(count_of(names, "tget_a"));
  };
  EXPECT_EQ(loads(8, 64), "1 and 0");
  EXPECT_EQ(loads(8, 32),
            "tile: no instruction of fake_wide says tile_store for tiles of 8 rows of "
            "32 bytes");
  EXPECT_EQ(loads(4, 64),
            "tile: no instruction of fake_wide says tile_store for tiles of 4 rows of "
            "64 bytes");
}

TEST(Select, NamesTheOperationThatIsMissing) {
  Builder b("missing", fake_isa());
  const Value x = b.op(OpCode::load, {b.arg(ArgField::lhs)});
  b.op(OpCode::store, {b.arg(ArgField::dst), b.op(OpCode::mmla_s8s8, {x, x, x})});
  Program program = b.finish();
  try {
    select(program);
    FAIL() << "no error";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(),
                 "missing: no instruction of fake says mmla_s8s8 for vectors of 16 bytes");
  }
}

}  // namespace
}  // namespace tw::test
