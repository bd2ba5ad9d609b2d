// A table of a few rows, for tests of printers. Its "vectors" are one 32-bit word, so that what is
// printed can be compiled anywhere.
#pragma once

#include <initializer_list>
#include <string>
#include <utility>
#include <vector>

#include "model/isa.h"

namespace tw {

inline Operand vector_operand(const std::string& name, bool is_result = false,
                              const std::string& c_type = "") {
  Operand operand;
  operand.name = name;
  operand.is_result = is_result;
  operand.c_type = c_type;
  return operand;
}

inline Operand pointer_operand(const std::string& name) {
  Operand operand;
  operand.name = name;
  operand.kind = Kind::scalar;
  return operand;
}

inline Row c_row_of(OpCode code, int bits, const std::string& c, const std::string& c_type,
                    std::vector<Operand> operands) {
  Row row;
  row.name = std::string(info(code).name);
  MeansNode node;
  node.code = code;
  node.bits = bits;
  for (const Operand& operand : operands) {
    if (operand.is_result) {
      node.result = operand.name;
    } else {
      node.args.push_back({operand.name, -1});
    }
  }
  if (info(code).has('i')) node.imm_name = "i";
  if (info(code).has('o')) node.offset_name = "o";
  row.means = {node};
  row.operands = std::move(operands);
  row.c = c;
  row.c_type = c_type;
  return row;
}

inline Isa small_isa() {
  const Operand d = vector_operand("d", true);
  const Operand a = vector_operand("a");
  const Operand b = vector_operand("b");
  const Operand c = vector_operand("c");
  const Operand p = pointer_operand("p");
  Isa isa;
  isa.name = "small";
  isa.architecture = "portable";
  isa.vector_bytes = 4;
  isa.can_print_assembly = false;
  isa.c_types = {{"i", "int32_t"}, {"f", "float"}};
  isa.c_casts = {{"i>f", "tw_f32_of_bits({x})"}, {"f>i", "tw_bits_of_f32({x})"}};
  isa.rows = {
      c_row_of(OpCode::load, 0, "tw_load_i32({at})", "i", {d, p}),
      c_row_of(OpCode::store, 0, "tw_store_i32({at}, {a})", "i", {p, a}),
      c_row_of(OpCode::zero, 0, "0", "i", {d}),
      c_row_of(OpCode::dup, 32, "(int32_t){p}", "i", {d, p}),
      c_row_of(OpCode::add, 32, "tw_add_i32({a}, {b})", "i", {d, a, b}),
      c_row_of(OpCode::shr, 32, "(int32_t)((uint32_t){a} >> {i})", "i", {d, a}),
      c_row_of(OpCode::fadd, 0, "({a} + {b})", "f", {d, a, b}),
      c_row_of(OpCode::fmul, 0, "({a} * {b})", "f", {d, a, b}),
      c_row_of(OpCode::cvt_i32_f32, 0, "(float){a}", "i", {vector_operand("d", true, "f"), a}),
      c_row_of(OpCode::dot4_u8s8, 0, "tw_dot4_u8s8({c}, {a}, {b})", "i", {d, c, a, b}),
  };
  return isa;
}

}  // namespace tw
