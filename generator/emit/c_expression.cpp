#include "emit/c_expression.h"

#include <fmt/format.h>

#include <cstdint>
#include <stdexcept>

#include "emit/c_text.h"
#include "emit/c_types.h"
#include "model/row_text.h"

namespace tw {
namespace {

Expression prefix(const std::string& sign, Expression operand) {
  return {sign, Binding::prefix, {std::move(operand)}};
}

Expression binary(Expression left, const char* sign, Expression right, Binding binding) {
  return {sign, binding, {std::move(left), std::move(right)}};
}

Expression sum(Expression left, const char* sign, Expression right) {
  return binary(std::move(left), sign, std::move(right), Binding::sum);
}

Expression conditional(Expression test, Expression yes, Expression no) {
  return {"?", Binding::conditional, {std::move(test), std::move(yes), std::move(no)}};
}

/// A 64-bit constant.
Expression constant(int64_t value) {
  const std::string size = "(size_t)";
  if (value == INT64_MIN) return {"((size_t)1 << 63)"};  // C has no literal for it
  if (value < 0) return prefix(size, {std::to_string(value)});
  if (value > 0xffff) return {fmt::format("0x{:08x}", value)};  // masks, mostly
  return {std::to_string(value)};
}

/// A field of the caller's struct; pointers as bytes, and of some fields the address.
Expression field_of_args(ArgField field) {
  const bool is_clamp = field == ArgField::clamp;
  const Expression member{fmt::format("args->{}", is_clamp ? "min" : name(field))};
  const CScalar type = type_of_field(field);
  if (!is_pointer(type)) return member;
  const char* address = is_address(field) ? "&" : "";
  return prefix(fmt::format("({}){}", c_scalar_type(type), address), member);
}

/// "to[3]", or "*to".
Expression byte_at(const Expression& address) {
  const bool is_sum = address.operands.size() == 2 && address.text == "+";
  if (!is_sum || !address.operands[0].operands.empty()) return prefix("*", address);
  return {fmt::format("{}[{}]", address.operands[0].text, to_text(address.operands[1]))};
}

/// What the left and the right operand of a binary operator have to bind like.
std::pair<Binding, Binding> operand_bindings(Binding binding) {
  switch (binding) {
    case Binding::product:
      return {Binding::product, Binding::prefix};
    case Binding::sum:
      return {Binding::sum, Binding::product};
    case Binding::compare:
      return {Binding::sum, Binding::sum};
    default:
      return {Binding::prefix, Binding::prefix};
  }
}

}  // namespace

std::string to_text(const Expression& expression) {
  const std::vector<Expression>& operands = expression.operands;
  if (operands.empty()) return expression.text;
  if (operands.size() == 1) return expression.text + to_text(operands[0], Binding::prefix);
  if (operands.size() == 3) {
    return fmt::format("{} ? {} : {}", to_text(operands[0], Binding::compare),
                       to_text(operands[1], Binding::bits), to_text(operands[2], Binding::bits));
  }
  const auto [left, right] = operand_bindings(expression.binding);
  return fmt::format("{} {} {}", to_text(operands[0], left), expression.text,
                     to_text(operands[1], right));
}

std::string to_text(const Expression& expression, Binding least) {
  const std::string text = to_text(expression);
  return expression.binding <= least ? text : "(" + text + ")";
}

std::string fill_in(const std::string& pattern,
                    const std::map<std::string, Expression>& expressions) {
  return replace_placeholders(pattern, [&](const Placeholder& it) {
    return to_text(expressions.at(it.name), it.enclosed ? Binding::conditional : Binding::primary);
  });
}

std::string assignment(const std::string& name, const Expression& value) {
  // Not a -= b - c, which is easily taken for a - b - c.
  if (value.binding == Binding::sum && value.operands[0].operands.empty() &&
      value.operands[0].text == name && value.operands[1].binding <= Binding::product) {
    return fmt::format("{} {}= {}", name, value.text, to_text(value.operands[1]));
  }
  return fmt::format("{} = {}", name, to_text(value));
}

Expression c_cast(const Isa& isa, const Expression& value, const std::string& from,
                  const std::string& to) {
  if (from == to || from.empty() || to.empty()) return value;
  const auto from_type = isa.c_types.find(from);
  const auto to_type = isa.c_types.find(to);
  if (from_type != isa.c_types.end() && to_type != isa.c_types.end() &&
      from_type->second == to_type->second) {
    return value;
  }
  auto pattern = isa.c_casts.find(from + ">" + to);
  if (pattern == isa.c_casts.end()) pattern = isa.c_casts.find("*");
  if (pattern == isa.c_casts.end()) {
    throw std::runtime_error(
        fmt::format("{}: c: casts: needs \"{}>{}\"", to_string(isa.where), from, to));
  }
  return {fill_in(pattern->second, {{"x", value}, {"from", {from}}, {"to", {to}}})};
}

int64_t CExpressions::fixed(Length length) const {
  if (length.is_fixed()) return length.fixed;
  throw std::runtime_error(
      fmt::format("{}: the C printer knows no vector length at run time, {} needs one",
                  program_.isa->name, program_.name));
}

Expression CExpressions::value(Value v) const {
  if (v == program_.args) return {"args"};
  if (const Op* op = values_.in_place[at(v)]) return operation(*op);
  const std::string& found = names_[static_cast<size_t>(values_.variable[at(v)])];
  if (found.empty()) {
    throw std::logic_error(fmt::format("{}: value {} is read before it is made", program_.name, v));
  }
  return {found};
}

Expression CExpressions::plus(Value base, int64_t bytes) const {
  // Steps that stand in place add up: p + 64 + 128 is p + 192.
  for (const Op* op = values_.in_place[at(base)]; op != nullptr && op->code == OpCode::iadd_imm;
       op = values_.in_place[at(base)]) {
    bytes += fixed(op->offset);
    base = op->args[0];
  }
  if (bytes == 0) return value(base);
  if (bytes > 0) return sum(value(base), "+", {std::to_string(bytes)});
  return sum(value(base), "-",
             bytes == INT64_MIN ? constant(bytes) : Expression{std::to_string(-bytes)});
}

Expression CExpressions::address(const Op& op) const {
  // The first scalar is the pointer.
  return plus(op.args[info(op.code).args.find('s')], fixed(op.offset));
}

Expression CExpressions::if_null(const Op& op) const {
  // "null" when nothing is left above a bound: ask for the bound itself.
  const Op* test = values_.in_place[at(op.args[0])];
  if (test != nullptr && test->code == OpCode::isub_sat) {
    return conditional(binary(value(test->args[0]), ">", value(test->args[1]), Binding::compare),
                       value(op.args[2]), value(op.args[1]));
  }
  const char* null = is_pointer(values_.scalar[at(op.args[0])]) ? "NULL" : "0";
  return conditional(binary(value(op.args[0]), "==", {null}, Binding::compare), value(op.args[1]),
                     value(op.args[2]));
}

Expression CExpressions::load(const Op& op) const {
  const Expression at = address(op);
  if (op.bits == 8) return byte_at(at);
  if (op.bits == 16) return {fmt::format("tw_load_u16({})", to_text(at))};
  if (op.bits == 32) return prefix("(uint32_t)", {fmt::format("tw_load_i32({})", to_text(at))});
  throw std::logic_error(fmt::format("{}: load_scalar.{}", program_.name, op.bits));
}

std::string CExpressions::store(const Op& op) const {
  const Expression at = address(op);
  const auto as = [&](const char* type) { return to_text(prefix(type, value(op.args[1]))); };
  if (op.bits == 8) return fmt::format("{} = {}", to_text(byte_at(at)), as("(uint8_t)"));
  if (op.bits == 16) return fmt::format("tw_store_u16({}, {})", to_text(at), as("(uint16_t)"));
  if (op.bits == 32) return fmt::format("tw_store_i32({}, {})", to_text(at), as("(int32_t)"));
  throw std::logic_error(fmt::format("{}: store_scalar.{}", program_.name, op.bits));
}

Expression CExpressions::operation(const Op& op) const {
  auto arg = [&](size_t i) { return value(op.args[i]); };
  const auto bits = [](Expression a, const char* sign, Expression b) {
    return binary(std::move(a), sign, std::move(b), Binding::bits);
  };
  const auto compare = [](Expression a, const char* sign, Expression b) {
    return binary(std::move(a), sign, std::move(b), Binding::compare);
  };
  switch (op.code) {
    case OpCode::arg:
      return field_of_args(static_cast<ArgField>(op.imm));
    case OpCode::scratch:
      return {"tw_hidden(scratch_memory)"};
    case OpCode::constant:
      return constant(op.imm);
    case OpCode::load_scalar:
      return load(op);
    case OpCode::length:
      return constant(fixed(op.offset));
    case OpCode::icopy:
    case OpCode::copy:
      return arg(0);
    case OpCode::iadd:
      return sum(arg(0), "+", arg(1));
    case OpCode::iadd_imm:
      return plus(op.args[0], fixed(op.offset));
    case OpCode::isub: {
      Expression difference = sum(arg(0), "-", arg(1));
      const bool of_pointers =
          is_pointer(values_.scalar[at(op.args[0])]) && is_pointer(values_.scalar[at(op.args[1])]);
      return of_pointers ? prefix("(size_t)", std::move(difference)) : difference;
    }
    case OpCode::imul: {
      const Op* factor = values_.in_place[at(op.args[1])];
      const bool is_one = factor != nullptr && factor->code == OpCode::constant && factor->imm == 1;
      return is_one ? arg(0) : binary(arg(0), "*", arg(1), Binding::product);
    }
    case OpCode::idiv:
      return binary(arg(0), "/", arg(1), Binding::product);
    case OpCode::ishl:
      return bits(arg(0), "<<", {std::to_string(op.imm)});
    case OpCode::ishr:
      return bits(arg(0), ">>", {std::to_string(op.imm)});
    case OpCode::iand_imm:
      return bits(
          is_pointer(values_.scalar[at(op.args[0])]) ? prefix("(uintptr_t)", arg(0)) : arg(0), "&",
          constant(op.imm));
    case OpCode::imin:
      return conditional(compare(arg(0), "<", arg(1)), arg(0), arg(1));
    case OpCode::isub_sat:
      return conditional(compare(arg(0), ">", arg(1)), sum(arg(0), "-", arg(1)), {"0"});
    case OpCode::if_null:
      return if_null(op);
    case OpCode::low_bits: {
      const auto wide = [](Expression x) { return prefix("(uint64_t)", std::move(x)); };
      Expression mask = sum(bits(wide({"1"}), "<<", arg(1)), "-", {"1"});
      return conditional(compare(arg(1), ">=", {"64"}), wide(arg(0)),
                         bits(wide(arg(0)), "&", std::move(mask)));
    }
    case OpCode::frame_load:
      return {fmt::format("slot_{}", op.imm)};
    default:
      throw std::logic_error(
          fmt::format("{}: no C expression for {}", program_.name, info(op.code).name));
  }
}

void CExpressions::collect_reads(Value v, std::vector<int>& variables) const {
  if (v == program_.args) return;
  if (const Op* op = values_.in_place[at(v)]) {
    for (Value arg : op->args) collect_reads(arg, variables);
  } else {
    variables.push_back(values_.variable[at(v)]);
  }
}

}  // namespace tw
