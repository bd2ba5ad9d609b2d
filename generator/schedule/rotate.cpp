#include "schedule/rotate.h"

#include <algorithm>
#include <unordered_map>

namespace tw {
namespace {

using Renames = std::unordered_map<Value, Value>;

Value renamed(const Renames& names, Value v) {
  const auto at = names.find(v);
  return at == names.end() ? v : at->second;
}

bool contains(const std::vector<Value>& values, Value v) {
  return std::find(values.begin(), values.end(), v) != values.end();
}

class Rotator {
 public:
  Rotator(Program& program, const Loop& loop, const std::vector<char>& early)
      : program_(program), loop_(loop), early_(early) {}

  std::optional<Rotated> run() {
    find_carried();
    Rotated out;
    const Value one = row_op(out.before, OpCode::constant, {}, 1, "one");
    const Value rest = row_op(out.before, OpCode::isub_sat, {loop_.count, one}, 0, "k_rest");
    const Value once = row_op(out.before, OpCode::isub, {loop_.count, rest}, 0, "k_once");
    std::vector<Value> unread;
    for (Value v : carried_) unread.push_back(anything(out.before, v));
    if (!possible_) return std::nullopt;
    out.first = make_first(once, unread);
    out.main = make_main(rest, *out.first);
    out.last = make_last(once, *out.main);
    return out;
  }

 private:
  std::vector<Value> like(const std::vector<Value>& values) {
    std::vector<Value> made;
    for (Value v : values) made.push_back(program_.add_like(v));
    return made;
  }

  Value row_op(std::vector<Op>& into, OpCode code, std::vector<Value> args, int64_t imm,
               const std::string& name) {
    Op op{.results = {program_.add_value({Kind::scalar, 8}, name)},
          .args = std::move(args),
          .row = program_.isa->row_for(code)};
    add(into, op, imm);
    return op.results[0];
  }

  void add(std::vector<Op>& into, Op& op, int64_t imm) {
    if (op.row == nullptr || op.row->assembly.empty() || op.row->immediates.size() > 1) {
      possible_ = false;
      return;
    }
    if (!op.row->immediates.empty()) op.immediates = {imm};
    into.push_back(op);
  }

  /// A value like `v` for the loop that may not run.
  Value anything(std::vector<Op>& into, Value v) {
    const Type type = program_.type(v);
    if (type.kind == Kind::scalar) return loop_.count;
    Op op;
    if (type.kind == Kind::vector) op.row = program_.isa->row_for(OpCode::zero, 0, type.bytes);
    op.results = {program_.add_like(v)};
    add(into, op, 0);
    return op.results[0];
  }

  const Op& op(size_t i) const { return std::get<Op>(loop_.body.nodes[i]); }

  /// What the early part makes for the rest, and loop variables that the rest reads.
  void find_carried() {
    for (size_t i = 0; i < early_.size(); ++i) {
      if (!early_[i]) continue;
      made_early_.insert(made_early_.end(), op(i).results.begin(), op(i).results.end());
    }
    auto see = [&](Value v) {
      if (contains(made_early_, v)) {
        if (!contains(carried_, v)) carried_.push_back(v);
      } else if (const size_t p = param(v); p < loop_.params.size() && !contains(kept_, v)) {
        kept_.push_back(v);
      }
    };
    for (size_t i = 0; i < early_.size(); ++i) {
      if (early_[i]) continue;
      for (Value v : op(i).args) see(v);
    }
    for (Value v : loop_.yields) see(v);
  }

  size_t param(Value v) const {
    return static_cast<size_t>(std::find(loop_.params.begin(), loop_.params.end(), v) -
                               loop_.params.begin());
  }

  /// Copies the early part, or the rest, with new names for what it defines.
  void copy(bool early, Renames& names, Region& into) {
    for (size_t i = 0; i < early_.size(); ++i) {
      if ((early_[i] != 0) != early) continue;
      Op made = op(i);
      for (Value& v : made.args) v = renamed(names, v);
      for (Value& v : made.results) v = names[v] = program_.add_like(v);
      into.nodes.emplace_back(std::move(made));
    }
  }

  std::unique_ptr<Loop> make_first(Value once, const std::vector<Value>& unread) {
    auto first = std::make_unique<Loop>();
    first->label = loop_.label + "_first";
    first->count = once;
    first->inits = unread;
    first->params = like(carried_);
    Renames names;
    for (size_t p = 0; p < loop_.params.size(); ++p) names[loop_.params[p]] = loop_.inits[p];
    copy(true, names, first->body);
    for (Value v : carried_) first->yields.push_back(renamed(names, v));
    first->results = like(carried_);
    return first;
  }

  std::unique_ptr<Loop> make_main(Value rest, const Loop& first) {
    auto main = std::make_unique<Loop>();
    main->label = loop_.label;
    main->count = rest;
    main->hot = loop_.hot;
    main->macs = loop_.macs;
    main->inits = first.results;
    main->params = carried_;
    for (Value v : kept_) {
      main->inits.push_back(loop_.inits[param(v)]);
      main->params.push_back(v);
    }
    for (size_t i = 0; i < early_.size(); ++i) {
      if (!early_[i]) main->body.nodes.emplace_back(op(i));
    }
    Renames next;
    for (size_t p = 0; p < loop_.params.size(); ++p) next[loop_.params[p]] = loop_.yields[p];
    copy(true, next, main->body);
    for (Value v : carried_) main->yields.push_back(renamed(next, v));
    for (Value v : kept_) main->yields.push_back(loop_.yields[param(v)]);
    main->results = like(main->params);
    return main;
  }

  std::unique_ptr<Loop> make_last(Value once, const Loop& main) {
    auto last = std::make_unique<Loop>();
    last->label = loop_.label + "_last";
    last->count = once;
    last->params = like(loop_.params);
    last->results = loop_.results;
    Renames names;
    for (size_t i = 0; i < carried_.size(); ++i) names[carried_[i]] = main.results[i];
    for (size_t p = 0; p < loop_.params.size(); ++p) {
      const auto at = std::find(kept_.begin(), kept_.end(), loop_.params[p]);
      const auto index = carried_.size() + static_cast<size_t>(at - kept_.begin());
      last->inits.push_back(at == kept_.end() ? loop_.inits[p] : main.results[index]);
      names[loop_.params[p]] = last->params[p];
    }
    copy(false, names, last->body);
    for (Value v : loop_.yields) last->yields.push_back(renamed(names, v));
    return last;
  }

  Program& program_;
  const Loop& loop_;
  const std::vector<char>& early_;
  std::vector<Value> made_early_;
  std::vector<Value> carried_;  ///< made early, read by the rest
  std::vector<Value> kept_;     ///< loop variables that the rest reads
  bool possible_ = true;
};

}  // namespace

std::optional<Rotated> rotate(Program& program, const Loop& loop, const std::vector<char>& early) {
  return Rotator(program, loop, early).run();
}

}  // namespace tw
