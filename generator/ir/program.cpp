#include "ir/program.h"

namespace tw {

static Node clone(const Node& node) {
  if (const auto* op = std::get_if<Op>(&node)) return *op;
  if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
    const Loop& from = **loop;
    auto to = std::make_unique<Loop>();
    to->count = from.count;
    to->step = from.step;
    to->inits = from.inits;
    to->params = from.params;
    to->yields = from.yields;
    to->results = from.results;
    to->body = clone(from.body);
    to->label = from.label;
    to->hot = from.hot;
    to->macs = from.macs;
    to->counter = from.counter;
    return to;
  }
  const If& from = *std::get<std::unique_ptr<If>>(node);
  auto to = std::make_unique<If>();
  to->a = from.a;
  to->b = from.b;
  to->compare = from.compare;
  to->then_body = clone(from.then_body);
  to->else_body = clone(from.else_body);
  return to;
}

Region clone(const Region& region) {
  Region to;
  to.nodes.reserve(region.nodes.size());
  for (const Node& node : region.nodes) to.nodes.push_back(clone(node));
  return to;
}

Program clone(const Program& program) {
  Program to;
  to.name = program.name;
  to.isa = program.isa;
  to.values = program.values;
  to.args = program.args;
  to.body = clone(program.body);
  to.frame_slots = program.frame_slots;
  to.scratch_bytes = program.scratch_bytes;
  to.scratch = program.scratch;
  to.registers = program.registers;
  return to;
}

}  // namespace tw
