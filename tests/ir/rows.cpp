#include "rows.h"

#include <stdexcept>

namespace tw::test {
namespace {

Operand operand(const std::string& name, Kind kind, bool is_result = false,
                const std::string& tied = "") {
  Operand made;
  made.name = name;
  made.kind = kind;
  made.is_result = is_result;
  made.tied = tied;
  return made;
}

MeansNode node(OpCode code, const std::string& result, std::vector<MeansArg> args, int bits = 0) {
  MeansNode made;
  made.code = code;
  made.result = result;
  made.args = std::move(args);
  made.bits = bits;
  return made;
}

MeansNode at(MeansNode access, const std::string& offset, Length added = {}) {
  access.offset_name = offset;
  access.offset = added;
  return access;
}

Row row(const std::string& name, std::vector<MeansNode> means, std::vector<Operand> operands,
        bool has_offset = false) {
  Row made;
  made.name = name;
  made.means = std::move(means);
  made.operands = std::move(operands);
  if (has_offset) made.immediates = {{"o", 8, 16, false}};
  return made;
}

RegisterFile file(const std::string& name, Kind kind, Length bytes) {
  RegisterFile made;
  made.name = name;
  made.kind = kind;
  made.bytes = bytes;
  std::vector<std::string> registers;
  for (int i = 0; i < 4; ++i) registers.push_back(name + std::to_string(i));
  made.views = {{name, registers}};
  made.consecutive = {0, 1, 2, 3};
  return made;
}

}  // namespace

Isa tiny_isa() {
  const Kind v = Kind::vector;
  const Kind s = Kind::scalar;
  Isa isa;
  isa.name = "tiny";
  isa.vector_bytes = 16;
  isa.files = {file("v", v, 16), file("r", s, 8)};
  isa.rows.push_back(row("load_row", {at(node(OpCode::load, "d", {{"p", -1}}), "o")},
                         {operand("d", v, true), operand("p", s)}, true));
  isa.rows.push_back(row("store_row", {at(node(OpCode::store, "", {{"p", -1}, {"x", -1}}), "o")},
                         {operand("p", s), operand("x", v)}, true));
  isa.rows.push_back(row("add_row", {node(OpCode::add, "d", {{"a", -1}, {"b", -1}}, 32)},
                         {operand("d", v, true), operand("a", v), operand("b", v)}));
  isa.rows.push_back(
      row("dot_row",
          {at(node(OpCode::load_dup, "", {{"p", -1}}, 32), "o", 4),
           node(OpCode::dot4_u8s8, "d", {{"c", -1}, {"a", -1}, {"", 0}})},
          {operand("d", v, true, "c"), operand("c", v), operand("a", v), operand("p", s)}, true));
  Row pair = row("load_pair",
                 {at(node(OpCode::load, "d0", {{"p", -1}}), "o"),
                  at(node(OpCode::load, "d1", {{"p", -1}}), "o", 16)},
                 {operand("d0", v, true), operand("d1", v, true), operand("p", s)}, true);
  pair.operands[0].tuple = pair.operands[1].tuple = "d0";
  isa.rows.push_back(pair);
  MeansNode step = node(OpCode::iadd_imm, "q", {{"p", -1}});
  step.offset = 16;
  isa.rows.push_back(row("load_step", {node(OpCode::load, "d", {{"p", -1}}), step},
                         {operand("d", v, true), operand("q", s, true, "p"), operand("p", s)}));
  Row clobber =
      row("clobber_row",
          {node(OpCode::add, "d", {{"a", -1}, {"a", -1}}, 32),
           node(OpCode::add, "e", {{"b", -1}, {"b", -1}}, 32)},
          {operand("d", v, true), operand("e", v, true), operand("a", v), operand("b", v)});
  clobber.operands[0].early_clobber = true;
  isa.rows.push_back(clobber);
  Row low = row("low_row", {node(OpCode::zero, "d", {})}, {operand("d", v, true)});
  low.operands[0].allowed = {0, 1};
  isa.rows.push_back(low);
  return isa;
}

Op row_op(const Isa& isa, const std::string& row, std::vector<Value> results,
          std::vector<Value> args, std::vector<Length> immediates) {
  Op op;
  for (const Row& candidate : isa.rows) {
    if (candidate.name == row) op.row = &candidate;
  }
  if (op.row == nullptr) throw std::logic_error("no row " + row);
  op.results = std::move(results);
  op.args = std::move(args);
  op.immediates = std::move(immediates);
  return op;
}

Selected select_dots() {
  Selected s;
  s.isa = std::make_unique<Isa>(tiny_isa());
  s.program = written(*s.isa, [](Builder&, Value, Value) {});
  Program& p = s.program;
  const Type vector{Kind::vector, 16};
  s.acc = p.add_value(vector, "acc");
  s.w = p.add_value(vector, "w");
  s.sum = p.add_value(vector, "sum");
  p.body.nodes.emplace_back(row_op(*s.isa, "load_row", {s.acc}, {1}, {0}));
  p.body.nodes.emplace_back(row_op(*s.isa, "load_row", {s.w}, {1}, {16}));
  p.body.nodes.emplace_back(row_op(*s.isa, "dot_row", {s.sum}, {s.acc, s.w, 1}, {32}));
  p.body.nodes.emplace_back(row_op(*s.isa, "store_row", {}, {2, s.sum}, {0}));
  p.registers = {0, 1, 2, 0, 1, 0};  // args, lhs, dst, acc, w, sum
  return s;
}

Bytes run_selected(const Program& program, const Bytes& input, bool physical) {
  Memory memory;
  Arguments arguments;
  arguments.field[static_cast<size_t>(ArgField::lhs)] = memory.add("lhs", input, false);
  uint64_t dst = memory.add_unwritten("dst", 16);
  arguments.field[static_cast<size_t>(ArgField::dst)] = dst;
  run(program, arguments, memory, {.vl = {}, .physical = physical});
  return memory.bytes(dst);
}

}  // namespace tw::test
