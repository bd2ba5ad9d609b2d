// Selected Programs, on virtual and on physical registers.
#include "rows.h"

#include <gtest/gtest.h>

namespace tw::test {
namespace {

std::vector<int32_t> expected_dots(const Bytes& input) {
  std::vector<int32_t> sums = as<int32_t>(input);
  sums.resize(4);
  for (size_t i = 0; i < 16; ++i) {
    sums[i / 4] += input[16 + i] * static_cast<int8_t>(input[36 + i % 4]);
  }
  return sums;
}

Bytes small_input() {
  Bytes input = random_bytes(48, 3);
  for (size_t i = 0; i < 4; ++i) input[4 * i + 3] = 0;  // no overflow in expected_dots()
  return input;
}

TEST(Rows, MeanTheirOperations) {
  Selected s = select_dots();
  ASSERT_EQ(verify(s.program), "");
  ASSERT_EQ(verify_registers(s.program), "");
  Bytes input = small_input();
  EXPECT_EQ(as<int32_t>(run_selected(s.program, input, false)), expected_dots(input));
  EXPECT_EQ(as<int32_t>(run_selected(s.program, input, true)), expected_dots(input));
}

TEST(Rows, AWrongRegisterGivesAWrongResult) {
  Selected s = select_dots();
  s.program.registers[static_cast<size_t>(s.w)] = 0;  // on top of acc
  ASSERT_EQ(verify_registers(s.program), "") << "every instruction alone is legal";
  Bytes input = small_input();
  EXPECT_EQ(as<int32_t>(run_selected(s.program, input, false)), expected_dots(input));
  EXPECT_NE(as<int32_t>(run_selected(s.program, input, true)), expected_dots(input));
}

TEST(Rows, APointerThatIsOverwrittenFaults) {
  Selected s = select_dots();
  Op& first = std::get<Op>(s.program.body.nodes[0]);  // lhs = arg(args)
  ASSERT_EQ(first.results[0], 1);
  s.program.registers[2] = 1;  // dst on top of lhs
  EXPECT_EQ(fault_of([&] { run_selected(s.program, small_input(), true); }),
            "test: acc@v0 = load_row(lhs@r1, o=0): read of 16 bytes at dst+0: byte 0 was never "
            "written");
}

/// Several results: pairs and pointers that step.
TEST(Rows, SeveralResults) {
  auto isa = std::make_unique<Isa>(tiny_isa());
  Program p = written(*isa, [](Builder&, Value, Value) {});
  const Type vector{Kind::vector, 16};
  Value x = p.add_value(vector, "x");
  Value next = p.add_value({Kind::scalar, 8}, "next");
  Value y = p.add_value(vector, "y");
  Value z = p.add_value(vector, "z");
  Value yz = p.add_value(vector, "yz");
  Value sum = p.add_value(vector, "sum");
  p.body.nodes.emplace_back(row_op(*isa, "load_step", {x, next}, {1}));
  p.body.nodes.emplace_back(row_op(*isa, "load_pair", {y, z}, {next}, {0}));
  p.body.nodes.emplace_back(row_op(*isa, "add_row", {yz}, {y, z}));
  p.body.nodes.emplace_back(row_op(*isa, "add_row", {sum}, {x, yz}));
  p.body.nodes.emplace_back(row_op(*isa, "store_row", {}, {2, sum}, {0}));
  p.registers = {0, 1, 2, 0, 1, 2, 3, 2, 3};
  ASSERT_EQ(verify(p), "");
  ASSERT_EQ(verify_registers(p), "");
  std::vector<int32_t> input;
  for (int i = 0; i < 12; ++i) input.push_back(1 << i);
  for (bool physical : {false, true}) {
    EXPECT_EQ(as<int32_t>(run_selected(p, bytes_of(input), physical)),
              (std::vector<int32_t>{0x111, 0x222, 0x444, 0x888}));
  }
  p.registers[static_cast<size_t>(z)] = 1;
  EXPECT_EQ(verify_registers(p),
            "y@v2, z@v1 = load_pair(next@r1, o=0): y and z must be in "
            "consecutive registers");
  p.registers[static_cast<size_t>(z)] = 3;
  p.registers[static_cast<size_t>(next)] = 3;
  EXPECT_EQ(verify_registers(p),
            "x@v0, next@r3 = load_step(lhs@r1): next must share the register of lhs");
}

TEST(Rows, RegistersThatTheyForbid) {
  auto isa = std::make_unique<Isa>(tiny_isa());
  Program p = written(*isa, [](Builder&, Value, Value) {});
  const Type vector{Kind::vector, 16};
  Value x = p.add_value(vector, "x");
  Value y = p.add_value(vector, "y");
  Value d = p.add_value(vector, "d");
  Value e = p.add_value(vector, "e");
  p.body.nodes.emplace_back(row_op(*isa, "low_row", {x}, {}));
  p.body.nodes.emplace_back(row_op(*isa, "low_row", {y}, {}));
  p.body.nodes.emplace_back(row_op(*isa, "clobber_row", {d, e}, {x, y}));
  auto with = [&](int rx, int ry, int rd, int re) {
    p.registers = {0, 1, 2, rx, ry, rd, re};
    return verify_registers(p);
  };
  EXPECT_EQ(with(0, 1, 2, 3), "");
  EXPECT_EQ(with(0, 1, 2, 0), "");
  EXPECT_EQ(with(2, 1, 3, 0),
            "x@v2 = low_row(): x is in register 2, which operand d does not allow");
  EXPECT_EQ(with(0, 1, 1, 0),
            "d@v1, e@v0 = clobber_row(x@v0, y@v1): d is written before y is read, "
            "and they share a register");
  EXPECT_EQ(with(0, 1, 2, 2),
            "d@v2, e@v2 = clobber_row(x@v0, y@v1): results d and e share a register");
  EXPECT_EQ(with(0, 1, 2, -1), "d@v2, e = clobber_row(x@v0, y@v1): e has no register");
  EXPECT_EQ(with(0, 1, 2, 4),
            "d@v2, e@4 = clobber_row(x@v0, y@v1): e is in register 4 of file v, which has 4");
}

TEST(Rows, MayNameTheirRegisterFile) {
  auto isa = std::make_unique<Isa>(tiny_isa());
  RegisterFile upper = isa->files[0];
  upper.name = "u";
  isa->files.push_back(upper);
  for (Row& row : isa->rows) {
    if (row.name == "low_row") row.operands[0].file = "u";
    if (row.name == "store_row") row.operands[1].file = "u";
  }
  Program p = written(*isa, [](Builder&, Value, Value) {});
  Value x = p.add_value({Kind::vector, 16}, "x");
  p.body.nodes.emplace_back(row_op(*isa, "low_row", {x}, {}));
  p.body.nodes.emplace_back(row_op(*isa, "store_row", {}, {2, x}, {0}));
  EXPECT_EQ(register_files(p), (std::vector<int>{1, 1, 1, 2}));
  isa->rows[1].operands[1].file = "v";
  p.registers = {0, 1, 2, 0};
  EXPECT_EQ(verify_registers(p), "x is needed in two register files, u and v");
}

/// Sums `count` vectors; plain operations may stand in an allocated Program, too.
struct Summing {
  std::unique_ptr<Isa> isa = std::make_unique<Isa>(tiny_isa());
  Program program;
  Loop* loop = nullptr;

  Summing() {
    program = written(*isa, [](Builder& b, Value from, Value to) {
      Value zero = b.op(OpCode::zero, {}, {}, "zero");
      Value n = b.op(OpCode::constant, {}, {.imm = 3}, "n");
      std::vector<Value> results = b.loop("n", n, {from, zero}, [&](const std::vector<Value>& p) {
        Value x = b.op(OpCode::load, {p[0]}, {}, "x");
        Value sum = b.op(OpCode::add, {p[1], x}, {.bits = 32}, "sum");
        return std::vector<Value>{b.add(p[0], 16, "next"), sum};
      });
      b.op(OpCode::store, {to, results[1]});
    });
    for (Node& node : program.body.nodes) {
      if (auto* it = std::get_if<std::unique_ptr<Loop>>(&node)) loop = it->get();
    }
    loop->counter = program.add_value({Kind::scalar, 8}, "counter");
    auto n_register = 3;
    program.registers.assign(program.values.size(), -1);
    set(program.args, 0);
    set(1, 1);
    set(2, 2);
    set(loop->count, n_register);
    set(loop->counter, n_register);
    set(loop->inits[1], 0);
    for (auto* list : {&loop->params, &loop->yields, &loop->results}) {
      set((*list)[0], 1);
      set((*list)[1], 0);
    }
    for_each_op(loop->body, [&](Op& op) {
      if (op.code == OpCode::load) set(op.results[0], 1);
    });
  }
  void set(Value v, int index) { program.registers[static_cast<size_t>(v)] = index; }
};

TEST(Physical, LoopVariablesStayInTheirRegisters) {
  Summing s;
  ASSERT_EQ(verify(s.program), "");
  std::vector<int32_t> input;
  for (int i = 0; i < 12; ++i) input.push_back(1 << i);
  for (bool physical : {false, true}) {
    EXPECT_EQ(as<int32_t>(run_selected(s.program, bytes_of(input), physical)),
              (std::vector<int32_t>{0x111, 0x222, 0x444, 0x888}));
  }
  EXPECT_NE(to_text(s.program).find("loop n count=n@r3 counter=counter@r3 ("), std::string::npos);
}

TEST(Physical, LoopVariablesInTwoRegistersFault) {
  for (int which : {0, 1, 2}) {
    Summing s;
    std::vector<Value>* lists[] = {&s.loop->params, &s.loop->yields, &s.loop->results};
    s.set((*lists[which])[1], 2);
    std::string fault = fault_of([&] { run_selected(s.program, Bytes(48), true); });
    EXPECT_EQ(fault.substr(0, 23), "test: loop n: zero and ") << fault;
    EXPECT_NE(fault.find("are one loop variable and must share a register"), std::string::npos);
  }
}

TEST(Physical, AValueThatOutlivesItsRegisterIsLost) {
  Summing s;
  for_each_op(s.loop->body, [&](Op& op) {
    if (op.code == OpCode::load) s.set(op.results[0], 0);  // on top of the sum
  });
  std::vector<int32_t> input(12, 1);
  EXPECT_EQ(as<int32_t>(run_selected(s.program, bytes_of(input), true)),
            std::vector<int32_t>(4, 2));
}

TEST(Physical, TheCounterMustSurvive) {
  Summing s;
  s.set(s.loop->counter, 1);  // on top of the pointer
  s.set(s.loop->count, 3);
  std::string fault = fault_of([&] { run_selected(s.program, Bytes(48), true); });
  EXPECT_NE(fault, "no fault");
}

TEST(Physical, NeedsRegisters) {
  Summing s;
  s.set(s.loop->count, -1);
  EXPECT_EQ(fault_of([&] { run_selected(s.program, Bytes(48), true); }),
            "test: loop n: n has no register");
  s.program.registers.clear();
  EXPECT_EQ(fault_of([&] { run_selected(s.program, Bytes(48), true); }),
            "test: the Program is not allocated");
}

TEST(Rows, VerifierNegatives) {
  auto wrong = [](const std::function<void(Selected&, std::vector<Node>&)>& spoil) {
    Selected s = select_dots();
    s.program.registers.clear();
    spoil(s, s.program.body.nodes);
    return verify(s.program);
  };
  auto op = [](std::vector<Node>& nodes, size_t i) -> Op& { return std::get<Op>(nodes[i]); };
  EXPECT_EQ(wrong([&](Selected&, auto& n) { op(n, 4).args.pop_back(); }),
            "sum = dot_row(acc, w, o=32): it has 2 arguments, row dot_row has 3");
  EXPECT_EQ(wrong([&](Selected& s, auto& n) { op(n, 4).args[2] = s.w; }),
            "sum = dot_row(acc, w, w, o=32): operand p is a vector, row dot_row takes a scalar");
  EXPECT_EQ(wrong([&](Selected&, auto& n) { op(n, 4).immediates.clear(); }),
            "sum = dot_row(acc, w, lhs): it has 0 immediates, row dot_row has 1");
  for (Length o : {Length{8}, Length{-16}, Length{4096}, Length{16, 16}}) {
    EXPECT_EQ(wrong([&](Selected&, auto& n) { op(n, 4).immediates[0] = o; }),
              "sum = dot_row(acc, w, lhs, o=" + to_string(o) + "): immediate o = " + to_string(o) +
                  " does not fit 8 unsigned bits times 16 of row dot_row");
  }
  EXPECT_EQ(
      wrong([&](Selected& s, auto&) { s.program.values[static_cast<size_t>(s.w)].type.bytes = 8; }),
      "w:8 = load_row(lhs, o=16): operand d has length 8, row load_row makes 16");
  EXPECT_EQ(wrong([&](Selected& s, auto& n) {
              n.erase(n.begin() + 2);  // acc = load_row
              Op quarter;
              quarter.code = OpCode::zero;
              quarter.results = {s.acc};
              s.program.values[static_cast<size_t>(s.acc)].type.bytes = 4;
              n.insert(n.begin() + 2, quarter);
              op(n, 5).args[1] = s.acc;
              n.erase(n.begin() + 4);
            }),
            "store_row(dst, acc, o=0): it stores 4 bytes, row store_row stores 16");
}

}  // namespace
}  // namespace tw::test
