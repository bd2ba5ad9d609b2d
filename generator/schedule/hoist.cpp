#include "schedule/hoist.h"

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "schedule/insert.h"

namespace tw {
namespace {

/// What a constant is.
using Constant = std::tuple<OpCode, int, int64_t>;  // code, bits, number

class Hoister {
 public:
  Hoister(Program& program, int most) : program_(program), most_(most) {}

  int run() {
    for_each_loop(program_.body, [&](const Loop& loop) {
      if (loop.hot) hoist(loop);
    });
    insert(program_, std::move(moved_));
    for (const auto& [from, to] : same_) replace_uses(program_.body, from, to);
    drop_unused(program_);
    return found_;
  }

 private:
  /// Those inside stay until nobody uses them.
  void hoist(const Loop& loop) {
    std::map<Value, int64_t> numbers;
    std::map<Constant, Value> known;
    for (const Node& node : loop.body.nodes) {
      const Op* op = std::get_if<Op>(&node);
      if (op == nullptr) continue;
      if (op->code == OpCode::constant) numbers[op->results[0]] = op->imm;
      const bool of_number = op->code == OpCode::dup && numbers.contains(op->args[0]);
      if (op->code != OpCode::splat && !of_number) continue;
      const int64_t number = of_number ? numbers[op->args[0]] : op->imm;
      const Value made = op->results[0];
      const auto [at, is_new] = known.try_emplace({op->code, op->bits, number}, no_value);
      found_ = std::max(found_, static_cast<int>(known.size()));
      if (is_new && static_cast<int>(known.size()) <= most_)
        at->second = in_front(loop, *op, number);
      if (at->second != no_value) same_.emplace_back(made, at->second);
    }
  }

  Value in_front(const Loop& loop, const Op& op, int64_t number) {
    std::vector<Op>& front = moved_.before[&loop];
    Op copy = op;
    if (op.code == OpCode::dup) {
      copy.args = {program_.add_value({Kind::scalar, 8}, "number")};
      front.push_back({.code = OpCode::constant, .results = copy.args, .imm = number});
    }
    const ValueInfo its = program_.values[static_cast<size_t>(op.results[0])];
    copy.results = {program_.add_value(its.type, its.name, Role::mask)};
    front.push_back(copy);
    return copy.results[0];
  }

  Program& program_;
  int most_;
  int found_ = 0;
  Insertions moved_;
  std::vector<std::pair<Value, Value>> same_;  ///< inside, in front
};

}  // namespace

int hoist_constants(Program& program, int most) {
  return Hoister(program, most).run();
}

}  // namespace tw
