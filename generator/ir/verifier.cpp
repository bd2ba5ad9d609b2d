#include <fmt/format.h>

#include <functional>
#include <stdexcept>
#include <utility>

#include "ir/operation_check.h"
#include "ir/row_use.h"
#include "ir/text.h"
#include "model/reject.h"

namespace tw {
namespace {

/// One walk through the region tree. A value is visible from its definition to the end of the
/// region that defines it; that is what dominance comes to in structured code.
class Verifier {
 public:
  explicit Verifier(const Program& program) : program_(program), state_(program.values.size()) {}

  void whole() {
    if (program_.isa == nullptr) reject("the Program has no ISA");
    at_ = [] { return std::string("the argument"); };
    define(program_.args);
    if (program_.allocated() && program_.registers.size() != program_.values.size()) {
      fail("{} registers for {} values", program_.registers.size(), program_.values.size());
    }
    region(program_.body);
  }

 private:
  enum class State : char { undefined, visible, left };

  template <typename... T>
  [[noreturn]] void fail(fmt::format_string<T...> text, T&&... args) const {
    throw std::invalid_argument(at_() + ": " + fmt::format(text, std::forward<T>(args)...));
  }

  State& state(Value v) {
    if (v < 0 || static_cast<size_t>(v) >= state_.size()) fail("value {} does not exist", v);
    return state_[static_cast<size_t>(v)];
  }
  std::string name(Value v) const { return unique_names(program_)[static_cast<size_t>(v)]; }

  void define(Value v) {
    if (state(v) != State::undefined) fail("{} is defined twice", name(v));
    state(v) = State::visible;
    scope_.push_back(v);
  }

  void use(Value v) {
    if (state(v) == State::undefined) fail("{} is used before its definition", name(v));
    if (state(v) == State::left) fail("{} is used outside of the region that defines it", name(v));
  }

  void scalar(Value v, const char* what) {
    use(v);
    Kind kind = program_.type(v).kind;
    if (kind != Kind::scalar) fail("{} is a {}, must be a scalar", what, tw::name(kind));
  }

  /// Leaves what was defined since `first`.
  void leave(size_t first) {
    for (size_t i = first; i < scope_.size(); ++i) state(scope_[i]) = State::left;
    scope_.resize(first);
  }

  /// `loop`: whose body it is. Its yields are used at the end, where the body's values are visible.
  void region(const Region& region, const Loop* loop = nullptr) {
    size_t first_value = scope_.size();
    size_t outer_modes = std::exchange(first_mode_, modes_.size());
    for (const Node& node : region.nodes) {
      std::visit([this](const auto& it) { visit(it); }, node);
    }
    if (modes_.size() != first_mode_) {
      fail("mode {} is entered and not left in the same region", tw::name(modes_.back()));
    }
    first_mode_ = outer_modes;
    if (loop != nullptr) yields(*loop);
    leave(first_value);
  }

  void visit(const Op& op) {
    at_ = [this, &op] { return to_text(program_, op, unique_names(program_)); };
    for (Value v : op.args) use(v);
    for (Value v : op.results) define(v);
    if (op.row != nullptr) {
      for (const RowStep& step : steps(op)) operation(step.use);
      return;
    }
    OperationUse plain{op.code, op.bits, op.offset, op.imm, {}, {}};
    for (Value v : op.args) plain.args.push_back(program_.type(v));
    for (Value v : op.results) plain.results.push_back(program_.type(v));
    std::string wrong = check_operation(plain, program_.frame_slots);
    if (!wrong.empty()) fail("{}", wrong);
    operation(plain);
  }

  std::vector<RowStep> steps(const Op& op) {
    try {
      return row_steps(program_, op);
    } catch (const std::invalid_argument& wrong) {
      fail("{}", wrong.what());
    }
  }

  /// What depends on where the operation stands.
  void operation(const OperationUse& use) {
    const OpInfo& about = info(use.code);
    if (about.facts.slow && hot_) fail("{} is not allowed in a hot loop", about.name);
    Mode mode = static_cast<Mode>(use.imm);
    if (use.code == OpCode::mode_enter) {
      for (Mode open : modes_) {
        if (open == mode) fail("mode {} is entered twice", tw::name(mode));
      }
      modes_.push_back(mode);
    } else if (use.code == OpCode::mode_leave) {
      if (modes_.size() == first_mode_ || modes_.back() != mode) {
        fail("mode {} is not the last one entered in this region", tw::name(mode));
      }
      modes_.pop_back();
    }
  }

  void at(const Loop& loop) {
    at_ = [&loop] { return "loop " + loop.label; };
  }

  void visit(const std::unique_ptr<Loop>& loop) {
    at(*loop);
    scalar(loop->count, "its count");
    if (loop->step.at({}) < 1) fail("its step is {}, must be positive", to_string(loop->step));
    if (loop->hot && loop->step != Length{1}) {
      fail("its step is {}, must be 1 in a hot loop", to_string(loop->step));
    }
    size_t n = loop->inits.size();
    if (loop->params.size() != n || loop->yields.size() != n || loop->results.size() != n) {
      fail("it has {} inits, {} params, {} yields and {} results, must be equally many", n,
           loop->params.size(), loop->yields.size(), loop->results.size());
    }
    for (Value v : loop->inits) use(v);
    size_t first = scope_.size();
    for (Value v : loop->params) define(v);
    if (loop->counter != no_value) {
      define(loop->counter);
      scalar(loop->counter, "its counter");
    }
    bool outer_hot = std::exchange(hot_, hot_ || loop->hot);
    region(loop->body, loop.get());
    hot_ = outer_hot;
    leave(first);
    for (Value v : loop->results) define(v);
  }

  void yields(const Loop& loop) {
    at(loop);
    for (Value v : loop.yields) use(v);
    for (size_t i = 0; i < loop.inits.size(); ++i) {
      Value init = loop.inits[i];
      for (Value v : {loop.params[i], loop.yields[i], loop.results[i]}) {
        state(v);
        if (program_.type(v) == program_.type(init)) continue;
        fail("{} and {} are one loop variable, but a {} of length {} and a {} of length {}",
             name(init), name(v), tw::name(program_.type(init).kind),
             to_string(program_.type(init).bytes), tw::name(program_.type(v).kind),
             to_string(program_.type(v).bytes));
      }
    }
  }

  void visit(const std::unique_ptr<If>& branch) {
    at_ = [b = branch.get()] { return fmt::format("if {}", tw::name(b->compare)); };
    scalar(branch->a, "its left side");
    scalar(branch->b, "its right side");
    region(branch->then_body);
    region(branch->else_body);
  }

  const Program& program_;
  std::vector<State> state_;
  std::vector<Value> scope_;  ///< visible values in the order of their definition
  std::vector<Mode> modes_;   ///< entered and not left
  size_t first_mode_ = 0;     ///< of `modes_`, entered in this region
  bool hot_ = false;
  std::function<std::string()> at_;  ///< what is being looked at, for messages
};

}  // namespace

std::string verify(const Program& program) {
  try {
    Verifier(program).whole();
  } catch (const std::invalid_argument& wrong) {
    return wrong.what();
  }
  return {};
}

}  // namespace tw
