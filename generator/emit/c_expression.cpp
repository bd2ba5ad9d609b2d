#include "emit/c_expression.h"

#include <fmt/format.h>

#include <cstdint>
#include <cstdlib>
#include <stdexcept>

namespace tw {
namespace {

/// The caller's struct, field by field; pointers as bytes.
Expression field_of_args(ArgField field) {
  switch (field) {
    case ArgField::lhs:
    case ArgField::lhs_rows:
    case ArgField::lhs_zero:
    case ArgField::rhs:
    case ArgField::bias:
    case ArgField::lookup:
      return {fmt::format("(const uint8_t*)args->{}", name(field)), Binding::prefix};
    case ArgField::dst:
      return {"(uint8_t*)args->dst", Binding::prefix};
    case ArgField::clamp:
      return {"(const uint8_t*)&args->min", Binding::prefix};
    case ArgField::output_zero:
      return {"(const uint8_t*)&args->output_zero", Binding::prefix};
    default:
      return {fmt::format("args->{}", name(field)), Binding::primary};
  }
}

}  // namespace

std::string within(const Expression& expression, Binding least) {
  if (expression.binding <= least) return expression.text;
  return "(" + expression.text + ")";
}

std::string c_constant(int64_t value) {
  if (value == INT64_MIN) return "((size_t)1 << 63)";  // C has no literal for it
  if (value < 0) return fmt::format("(size_t){}", value);
  if (value > 0xffff) return fmt::format("0x{:08x}", value);  // masks, mostly
  return std::to_string(value);
}

int64_t CExpressions::fixed(Length length) const {
  if (length.is_fixed()) return length.fixed;
  throw std::runtime_error(
      fmt::format("{}: the C printer knows no vector length at run time, {} needs one",
                  program_.isa->name, program_.name));
}

Expression CExpressions::value(Value v) const {
  if (v == program_.args) return {"args"};
  if (values_.form[at(v)] == CForm::in_place) return operation(*values_.definition[at(v)]);
  const std::string& found = names_[static_cast<size_t>(values_.variable[at(v)])];
  if (found.empty()) {
    throw std::logic_error(fmt::format("{}: value {} is read before it is made", program_.name, v));
  }
  return {found};
}

Expression CExpressions::plus(Value base, int64_t bytes) const {
  // Steps that stand in place add up: p + 64 + 128 is p + 192.
  while (values_.form[at(base)] == CForm::in_place &&
         values_.definition[at(base)]->code == OpCode::iadd_imm) {
    bytes += fixed(values_.definition[at(base)]->offset);
    base = values_.definition[at(base)]->args[0];
  }
  const Expression expression = value(base);
  if (bytes == 0) return expression;
  const std::string step = bytes == INT64_MIN ? c_constant(bytes) : std::to_string(std::abs(bytes));
  return {fmt::format("{} {} {}", within(expression, Binding::sum), bytes < 0 ? '-' : '+', step),
          Binding::sum};
}

Expression CExpressions::address(const Op& op) const {
  // The first scalar is the pointer.
  return plus(op.args[info(op.code).args.find('s')], fixed(op.offset));
}

bool CExpressions::is_one(Value v) const {
  const Op* definition = values_.definition[at(v)];
  return definition != nullptr && definition->code == OpCode::constant && definition->imm == 1;
}

std::string CExpressions::condition(Value tested) const {
  const bool is_pointer = values_.scalar[at(tested)] == CScalar::const_pointer ||
                          values_.scalar[at(tested)] == CScalar::pointer;
  return fmt::format("{} == {}", within(value(tested), Binding::sum), is_pointer ? "NULL" : "0");
}

Expression CExpressions::operation(const Op& op) const {
  auto arg = [&](size_t i, Binding least) { return within(value(op.args[i]), least); };
  auto is_pointer = [&](size_t i) {
    const CScalar type = values_.scalar[at(op.args[i])];
    return type == CScalar::const_pointer || type == CScalar::pointer;
  };
  switch (op.code) {
    case OpCode::arg:
      return field_of_args(static_cast<ArgField>(op.imm));
    case OpCode::scratch:
      return {"tw_hidden(scratch_memory)"};
    case OpCode::constant:
      return {c_constant(op.imm), op.imm < 0 ? Binding::prefix : Binding::primary};
    case OpCode::length:
      return {c_constant(fixed(op.offset))};
    case OpCode::icopy:
    case OpCode::copy:
      return value(op.args[0]);
    case OpCode::iadd:
      return {fmt::format("{} + {}", arg(0, Binding::sum), arg(1, Binding::product)), Binding::sum};
    case OpCode::iadd_imm:
      return plus(op.args[0], fixed(op.offset));
    case OpCode::isub: {
      const std::string text =
          fmt::format("{} - {}", arg(0, Binding::sum), arg(1, Binding::product));
      if (is_pointer(0) && is_pointer(1)) return {"(size_t)(" + text + ")", Binding::prefix};
      return {text, Binding::sum};
    }
    case OpCode::imul:
      if (is_one(op.args[1])) return value(op.args[0]);
      return {fmt::format("{} * {}", arg(0, Binding::product), arg(1, Binding::prefix)),
              Binding::product};
    case OpCode::idiv:
      return {fmt::format("{} / {}", arg(0, Binding::product), arg(1, Binding::prefix)),
              Binding::product};
    case OpCode::ishl:
      return {fmt::format("{} << {}", arg(0, Binding::prefix), op.imm), Binding::other};
    case OpCode::ishr:
      return {fmt::format("{} >> {}", arg(0, Binding::prefix), op.imm), Binding::other};
    case OpCode::iand_imm:
      return {fmt::format("{} & {}", arg(0, Binding::prefix), c_constant(op.imm)), Binding::other};
    case OpCode::imin: {
      const std::string a = arg(0, Binding::sum);
      const std::string b = arg(1, Binding::sum);
      return {fmt::format("{0} < {1} ? {0} : {1}", a, b), Binding::other};
    }
    case OpCode::isub_sat: {
      const std::string a = arg(0, Binding::sum);
      return {fmt::format("{} > {} ? {} - {} : 0", a, arg(1, Binding::sum), a,
                          arg(1, Binding::product)),
              Binding::other};
    }
    case OpCode::if_null: {
      // "null" when nothing is left above a bound: ask for the bound itself.
      const Value tested = op.args[0];
      const Op* test = values_.definition[at(tested)];
      if (values_.form[at(tested)] == CForm::in_place && test->code == OpCode::isub_sat) {
        return {fmt::format("{} > {} ? {} : {}", within(value(test->args[0]), Binding::sum),
                            within(value(test->args[1]), Binding::sum), arg(2, Binding::sum),
                            arg(1, Binding::sum)),
                Binding::other};
      }
      return {fmt::format("{} ? {} : {}", condition(tested), arg(1, Binding::sum),
                          arg(2, Binding::sum)),
              Binding::other};
    }
    case OpCode::low_bits:
      return {fmt::format("{0} >= 64 ? (uint64_t){1} : (uint64_t){1} & (((uint64_t)1 << {2}) - 1)",
                          arg(1, Binding::sum), arg(0, Binding::prefix), arg(1, Binding::prefix)),
              Binding::other};
    case OpCode::frame_load:
      return {fmt::format("slot_{}", op.imm)};
    default:
      throw std::logic_error(
          fmt::format("{}: no C expression for {}", program_.name, info(op.code).name));
  }
}

void CExpressions::collect_reads(Value v, std::vector<int>& variables) const {
  if (v == program_.args) return;
  if (values_.form[at(v)] != CForm::in_place) {
    variables.push_back(values_.variable[at(v)]);
    return;
  }
  for (Value arg : values_.definition[at(v)]->args) collect_reads(arg, variables);
}

}  // namespace tw
