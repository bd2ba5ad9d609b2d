// The text of a Program, before and after selection and allocation.
#include <gtest/gtest.h>

#include "helpers.h"
#include "ir/text.h"
#include "rows.h"

namespace tw::test {
namespace {

TEST(Text, Lowered) {
  Program program = written(fixed16(), [](Builder& b, Value from, Value to) {
    Value n = b.arg(ArgField::k);
    Value acc = b.op(OpCode::zero, {}, {}, "acc", Role::accumulator);
    std::vector<Value> sums = b.hot_loop("k", n, {from, acc}, 16, [&](const std::vector<Value>& p) {
      Value w = b.op(OpCode::load, {p[0]}, {.offset = 64}, "w");
      Value a = b.op(OpCode::load_dup, {p[0]}, {.bits = 32}, "a");
      Value sum = b.op(OpCode::dot4_s8s8_lane, {p[1], w, a}, {.imm = 2}, "acc");
      return std::vector<Value>{b.add(p[0], {0, 16}), sum};
    });
    b.branch(
        n, Compare::at_least, from,
        [&] {
          b.op(OpCode::store, {to, sums[1]});
        },
        [&] {
          Value low = b.op(OpCode::narrow_32_8, {sums[1]}, {}, "low");
          b.op(OpCode::store, {to, low}, {.offset = 4});
        });
    b.stepped_loop("m", n, {8}, {},
                   [&](const std::vector<Value>&) { return std::vector<Value>{}; });
    b.op(OpCode::mode_enter, {}, {.imm = 1});
    b.op(OpCode::mode_leave, {}, {.imm = 1});
  });
  EXPECT_EQ(to_text(program), R"(test for test (args) {
  lhs = arg(args, #lhs)
  dst = arg(args, #dst)
  k = arg(args, #k)
  acc = zero()
  hot loop k count=k (lhs_2 = lhs, acc_2 = acc) {
    w = load(lhs_2)[64]
    a = load_dup.32(lhs_2)
    acc_3 = dot4_s8s8_lane(acc_2, w, a, #2)
    v10 = iadd_imm(lhs_2)[16vl]
    yield v10, acc_3
  } -> lhs_3, acc_4
  if k at_least lhs {
    store(dst, acc_4)
  } else {
    low:4 = narrow_32_8(acc_4)
    store(dst, low)[4]
  }
  loop m count=k step=8 () {
  }
  mode_enter(#streaming)
  mode_leave(#streaming)
}
)");
}

TEST(Text, NamesAreUnique) {
  Program program = written(fixed16(), [](Builder& b, Value, Value) {
    for (const char* name : {"x", "x_2", "x", "x", "v3"}) b.op(OpCode::constant, {}, {}, name);
    b.op(OpCode::constant);
  });
  EXPECT_EQ(unique_names(program),
            (std::vector<std::string>{"args", "lhs", "dst", "x", "x_2", "x_3", "x_4", "v3", "v8"}));
}

TEST(Text, SelectedAndAllocated) {
  Selected selected = select_dots();
  EXPECT_EQ(to_text(selected.program), R"(test for tiny (args@r0) {
  lhs@r1 = arg(args@r0, #lhs)
  dst@r2 = arg(args@r0, #dst)
  acc@v0 = load_row(lhs@r1, o=0)
  w@v1 = load_row(lhs@r1, o=16)
  sum@v0 = dot_row(acc@v0, w@v1, lhs@r1, o=32)
  store_row(dst@r2, sum@v0, o=0)
}
)");
}

}  // namespace
}  // namespace tw::test
