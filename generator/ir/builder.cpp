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
}

/// Can the ISA enter it, and has the Program a use for it? The table of nibbles lies beside tiles.
bool Builder::needs(Mode mode) const {
  const auto can_enter = [&](Mode wanted) {
    return std::any_of(isa().rows.begin(), isa().rows.end(), [&](const Row& row) {
      const MeansNode& node = row.means.front();
      return node.code == OpCode::mode_enter && node.imm == static_cast<int64_t>(wanted);
    });
  };
  const auto is_tile = [](const ValueInfo& v) { return v.type.kind == Kind::tile; };
  const bool is_of_use = mode != Mode::accumulator_tiles || can_enter(Mode::nibble_table) ||
                         std::any_of(program_.values.begin(), program_.values.end(), is_tile);
  return is_of_use && can_enter(mode);
}

/// The whole Program is the region of its modes, each within the one before.
void Builder::insert_modes() {
  std::vector<Node>& nodes = program_.body.nodes;
  for (const Mode mode : {Mode::nibble_table, Mode::accumulator_tiles, Mode::streaming}) {
    if (!needs(mode)) continue;
    const auto imm = static_cast<int64_t>(mode);
    nodes.insert(nodes.begin(), Op{.code = OpCode::mode_enter, .imm = imm});
    nodes.emplace_back(Op{.code = OpCode::mode_leave, .imm = imm});
  }
}

Value Builder::op(OpCode code, std::initializer_list<Value> args, With with, std::string hint,
                  Role role) {
  Op op{.code = code, .args = args, .bits = with.bits, .offset = with.offset, .imm = with.imm};
  Types types;
  for (Value v : args) {
    if (v < 0 || static_cast<size_t>(v) >= program_.values.size()) {
      throw std::logic_error(
          fmt::format("{}: an argument of {} is no value", program_.name, info(code).name));
    }
    types.push_back(type(v));
  }
  Value result = no_value;
  if (info(code).result != '-') {
    Type made = result_type(code, with.bits, with.bytes, types, isa(), with.rows);
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

Value Builder::scratch(int64_t bytes, bool alone) {
  if (program_.scratch_bytes != 0) throw std::logic_error(program_.name + ": two scratches");
  program_.scratch_bytes = bytes;
  const Value pointer = op(OpCode::scratch, {}, {}, "scratch", Role::address);
  if (alone) program_.scratch = pointer;
  return pointer;
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
  for (Value init : inits) loop->params.push_back(program_.add_like(init));
  regions_.push_back(&loop->body);
  loop->yields = body(loop->params);
  regions_.pop_back();
  for (Value init : inits) loop->results.push_back(program_.add_like(init));
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
  insert_modes();
  std::string wrong = verify(program_);
  if (!wrong.empty()) throw std::logic_error(program_.name + ": " + wrong);
  return std::move(program_);
}

}  // namespace tw
