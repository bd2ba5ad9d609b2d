#include "ir/builder.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include "ir/typing.h"

namespace tw {

Builder::Builder(std::string name, const Isa& isa) {
  program_.name = std::move(name);
  program_.isa = &isa;
  program_.args = program_.add_value({Kind::scalar, 8}, "args", Role::address);
  regions_.push_back(&program_.body);
  change_modes(OpCode::mode_enter);
}

/// The whole Program runs in the modes that its ISA can enter, each within the one before.
void Builder::change_modes(OpCode change) {
  std::vector<Mode> modes = {Mode::streaming, Mode::accumulator_tiles, Mode::nibble_table};
  if (change == OpCode::mode_leave) std::reverse(modes.begin(), modes.end());
  for (const Mode mode : modes) {
    const auto number = static_cast<int64_t>(mode);
    const bool known = std::any_of(isa().rows.begin(), isa().rows.end(), [&](const Row& row) {
      const MeansNode& node = row.means.front();
      return node.code == change && node.imm == number;
    });
    if (known) op(change, {}, {.imm = number});
  }
}

Value Builder::op(OpCode code, std::initializer_list<Value> args, With with, std::string hint,
                  Role role) {
  Op op;
  op.code = code;
  op.args = args;
  op.bits = with.bits;
  op.offset = with.offset;
  op.imm = with.imm;
  std::vector<Type> types;
  for (Value v : args) {
    if (v < 0 || static_cast<size_t>(v) >= program_.values.size()) {
      throw std::logic_error(
          fmt::format("{}: an argument of {} is no value", program_.name, info(code).name));
    }
    types.push_back(type(v));
  }
  Value result = no_value;
  if (info(code).result != '-') {
    Type made = result_type(code, with.bits, with.bytes, types, isa());
    result = program_.add_value(made, std::move(hint), role);
    op.results = {result};
  }
  if (uses_frame(code) && with.imm >= program_.frame_slots) {
    program_.frame_slots = static_cast<int>(with.imm) + 1;
  }
  regions_.back()->nodes.emplace_back(std::move(op));
  return result;
}

Value Builder::arg(ArgField field) {
  return op(OpCode::arg, {program_.args}, {.imm = static_cast<int64_t>(field)},
            std::string(name(field)));
}

Value Builder::constant(int64_t value) {
  return op(OpCode::constant, {}, {.imm = value});
}

Value Builder::scratch(int64_t bytes) {
  if (program_.scratch != no_value) throw std::logic_error(program_.name + ": two scratches");
  program_.scratch_bytes = bytes;
  program_.scratch = op(OpCode::scratch, {}, {}, "scratch", Role::address);
  return program_.scratch;
}

Value Builder::add(Value pointer, Length bytes, std::string hint) {
  if (bytes == Length{}) return pointer;
  return op(OpCode::iadd_imm, {pointer}, {.offset = bytes}, std::move(hint), Role::address);
}

std::vector<Value> Builder::loop(std::string label, Value count, const std::vector<Value>& inits,
                                 const Body& body) {
  return make_loop(std::move(label), count, inits, false, 0, body);
}

std::vector<Value> Builder::stepped_loop(std::string label, Value count, Length step,
                                         const std::vector<Value>& inits, const Body& body) {
  if (!step.is_fixed()) {  // no field of an instruction holds it: count the steps instead
    const Value by = op(OpCode::length, {}, {.offset = step});
    const Value last = op(OpCode::isub, {op(OpCode::iadd, {count, by}), constant(1)});
    return loop(std::move(label), op(OpCode::idiv, {last, by}, {}, "steps"), inits, body);
  }
  std::vector<Value> results = make_loop(std::move(label), count, inits, false, 0, body);
  std::get<std::unique_ptr<Loop>>(regions_.back()->nodes.back())->step = step;
  return results;
}

std::vector<Value> Builder::hot_loop(std::string label, Value count,
                                     const std::vector<Value>& inits, int64_t macs,
                                     const Body& body) {
  return make_loop(std::move(label), count, inits, true, macs, body);
}

std::vector<Value> Builder::make_loop(std::string label, Value count,
                                      const std::vector<Value>& inits, bool hot, int64_t macs,
                                      const Body& body) {
  auto loop = std::make_unique<Loop>();
  loop->count = count;
  loop->inits = inits;
  loop->label = std::move(label);
  loop->hot = hot;
  loop->macs = macs;
  // Copies, because add_value may move the values.
  auto same_as = [&](Value v) {
    ValueInfo like = program_.values.at(static_cast<size_t>(v));
    return program_.add_value(like.type, like.name, like.role);
  };
  for (Value init : inits) loop->params.push_back(same_as(init));
  regions_.push_back(&loop->body);
  loop->yields = body(loop->params);
  regions_.pop_back();
  for (Value init : inits) loop->results.push_back(same_as(init));
  std::vector<Value> results = loop->results;
  regions_.back()->nodes.emplace_back(std::move(loop));
  return results;
}

void Builder::branch(Value a, Compare compare, Value b, const std::function<void()>& then_body,
                     const std::function<void()>& else_body) {
  auto branch = std::make_unique<If>();
  branch->a = a;
  branch->b = b;
  branch->compare = compare;
  regions_.push_back(&branch->then_body);
  then_body();
  regions_.back() = &branch->else_body;
  if (else_body) else_body();
  regions_.pop_back();
  regions_.back()->nodes.emplace_back(std::move(branch));
}

void Builder::rename(Value v, std::string hint, Role role) {
  ValueInfo& value = program_.values.at(static_cast<size_t>(v));
  value.name = std::move(hint);
  value.role = role;
}

Program Builder::finish() {
  change_modes(OpCode::mode_leave);
  std::string wrong = verify(program_);
  if (!wrong.empty()) throw std::logic_error(program_.name + ": " + wrong);
  return std::move(program_);
}

}  // namespace tw
