#include "emit/c_types.h"

#include <algorithm>

#include "emit/visitor.h"

namespace tw {
namespace {

CScalar join(CScalar a, CScalar b) {
  if (a == b) return a;
  if (is_pointer(a) && is_pointer(b)) return CScalar::const_pointer;
  if (is_pointer(a)) return a;
  if (is_pointer(b)) return b;
  return CScalar::bits64;
}

CScalar scalar_result(const Op& op, const CValues& values) {
  auto type = [&](size_t i) { return values.scalar[at(op.args[i])]; };
  switch (op.code) {
    case OpCode::arg:
      return type_of_field(static_cast<ArgField>(op.imm));
    case OpCode::scratch:
      return CScalar::pointer;
    case OpCode::load_pointer:
      return CScalar::const_pointer;
    case OpCode::iadd:
    case OpCode::imin:
      return join(type(0), type(1));
    case OpCode::isub:
      return is_pointer(type(1)) ? CScalar::size : type(0);
    case OpCode::if_null:
      return join(type(1), type(2));
    case OpCode::iadd_imm:
    case OpCode::icopy:
      return type(0);
    case OpCode::low_bits:
    case OpCode::load_i64:
      return CScalar::bits64;
    case OpCode::frame_load:
      return values.slots[static_cast<size_t>(op.imm)];
    case OpCode::ishl:
    case OpCode::ishr:
    case OpCode::iand_imm:
      return type(0) == CScalar::bits64 ? CScalar::bits64 : CScalar::size;
    default:
      return CScalar::size;
  }
}

}  // namespace

CScalar type_of_field(ArgField field) {
  switch (field) {
    case ArgField::lhs:
    case ArgField::rhs:
    case ArgField::bias:
    case ArgField::clamp:
    case ArgField::lookup:
    case ArgField::pack_source:
    case ArgField::pack_scales:
    case ArgField::pack_bias:
    case ArgField::pack_sum_factor:
    case ArgField::pack_lhs_zero_point:
    case ArgField::pack_zero_points:
      return CScalar::const_pointer;
    case ArgField::dst:
    case ArgField::pack_packed:
      return CScalar::pointer;
    case ArgField::flags:
    case ArgField::pack_flags:
      return CScalar::bits64;
    default:
      return CScalar::size;
  }
}

void find_scalar_types(const Program& program, CValues& values) {
  values.slots.assign(static_cast<size_t>(program.frame_slots), CScalar::size);
  bool changed = true;
  auto set = [&](CScalar& type, CScalar wanted) {
    changed = changed || type != wanted;
    type = wanted;
  };
  Visitor visitor;
  visitor.op = [&](const Op& op, const Region&) {
    if (op.code == OpCode::frame_store) {
      set(values.slots[static_cast<size_t>(op.imm)], values.scalar[at(op.args[0])]);
    }
    if (op.results.empty() || program.type(op.results[0]).kind != Kind::scalar) return;
    set(values.scalar[at(op.results[0])], scalar_result(op, values));
  };
  visitor.loop = [&](const Loop& loop, const Region&) {
    for (size_t i = 0; i < loop.params.size(); ++i) {
      set(values.scalar[at(loop.params[i])],
          join(values.scalar[at(loop.inits[i])], values.scalar[at(loop.yields[i])]));
      set(values.scalar[at(loop.results[i])], values.scalar[at(loop.params[i])]);
    }
  };
  // Types only move towards pointers; two rounds do for most Programs.
  for (int round = 0; changed && round < 16; ++round) {
    changed = false;
    visitor.visit(program.body);
  }
}

std::vector<ClassCounts> count_classes(const Program& program) {
  std::vector<ClassCounts> counts(program.values.size());
  std::map<const Region*, int64_t> weights{{&program.body, 1}};
  Visitor visitor;
  visitor.loop = [&](const Loop& loop, const Region& region) {
    weights[&loop.body] = weights[&region] * 8;
  };
  visitor.branch = [&](const If& branch, const Region& region) {
    weights[&branch.then_body] = weights[&branch.else_body] = weights[&region];
  };
  visitor.op = [&](const Op& op, const Region& region) {
    if (is_plain_c(op.code)) return;
    const Row& row = c_row(program, op);
    const bool computes = info(op.code).args.find('v') != std::string_view::npos;
    size_t argument = 0;
    for (const Operand& operand : row.operands) {
      const Value v = operand.is_result ? op.results[0] : op.args[argument++];
      if (operand.kind == Kind::scalar) continue;
      // When counts are equal, what computes a value decides; what loads it follows its use.
      const int64_t bonus = !operand.is_result ? 0 : computes ? 1 : -1;
      counts[at(v)][c_class(row, operand)] += 2 * weights[&region] + bonus;
    }
  };
  visitor.visit(program.body);
  return counts;
}

std::string commonest(const ClassCounts& counts) {
  const auto best =
      std::max_element(counts.begin(), counts.end(),
                       [](const auto& a, const auto& b) { return a.second < b.second; });
  return best == counts.end() ? "" : best->first;
}

}  // namespace tw
