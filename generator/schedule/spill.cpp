#include "schedule/spill.h"

#include <algorithm>
#include <map>
#include <span>

#include "schedule/insert.h"

namespace tw {
namespace {

/// Where a value is defined and used, in positions; loop bodies that are hot do not count as
/// places where it could be loaded.
struct Touches {
  std::vector<int> positions;
  bool in_hot_loop = false;
};

class TouchFinder {
 public:
  TouchFinder(const Program& program, const Liveness& live) : live_(live) {
    touches_.resize(program.values.size());
    for (const Liveness::Span& span : live.loops) spans_[span.loop] = span;
    touch(program.args, 0);
    region(program.body, false);
  }

  std::vector<Touches>& touches() { return touches_; }

 private:
  void touch(Value v, int position) {
    touches_[static_cast<size_t>(v)].positions.push_back(position);
  }
  void touch(Value v, int position, bool hot) {
    touch(v, position);
    touches_[static_cast<size_t>(v)].in_hot_loop |= hot;
  }

  void region(const Region& region, bool hot) {
    for (const Node& node : region.nodes) {
      if (const auto* op = std::get_if<Op>(&node)) {
        const int at = live_.position.at(op);
        for (Value v : op->args) touch(v, at, hot);
        for (Value v : op->results) touch(v, at, hot);
      } else if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
        inside(**loop, hot);
      } else {
        const If& branch = *std::get<std::unique_ptr<If>>(node);
        const int at = live_.position.at(&branch);
        touch(branch.a, at, hot);
        touch(branch.b, at, hot);
        for_each_region(node, [&](const Region& inner) { this->region(inner, hot); });
      }
    }
  }

  void inside(const Loop& loop, bool hot) {
    const Liveness::Span& span = spans_.at(&loop);
    touch(loop.count, span.head, hot);
    for (Value v : loop.inits) touch(v, span.head, hot);
    for (Value v : loop.params) touch(v, span.head, hot || loop.hot);
    region(loop.body, hot || loop.hot);
    for (Value v : loop.yields) touch(v, span.tail, hot || loop.hot);
    for (Value v : loop.results) touch(v, span.tail, hot);
    // A counter is the loop's own; it cannot be loaded anew.
    if (loop.counter != no_value) touch(loop.counter, span.head, true);
  }

  const Liveness& live_;
  std::vector<Touches> touches_;
  std::map<const Loop*, Liveness::Span> spans_;
};

/// How long the value is not touched around `position`; 0: it is needed there.
int idle(const Touches& touches, int position) {
  constexpr int neighborhood = 2;  // a load or store beside the position would not help it
  int before = -1;
  int after = -1;
  for (int at : touches.positions) {
    if (at <= position && at > before) before = at;
    if (at >= position && (after < 0 || at < after)) after = at;
  }
  if (before < 0) return 0;
  if (after < 0) after = position + neighborhood + 1;  // goes round a loop
  if (position - before < neighborhood || after - position < neighborhood) return 0;
  return after - before;
}

class Spiller {
 public:
  Spiller(Program& program, Value v) : program_(program), v_(v), slot_(program.frame_slots++) {}

  void run() {
    if (v_ == program_.args) insertions_.program_begin.push_back(store());
    region(program_.body);
    insert(program_, std::move(insertions_));
  }

 private:
  Op store() const { return {.code = OpCode::frame_store, .args = {v_}, .imm = slot_}; }

  Value load(std::vector<Op>& into) {
    const Value loaded = program_.add_like(v_);
    into.push_back({.code = OpCode::frame_load, .results = {loaded}, .imm = slot_});
    return loaded;
  }

  bool uses(std::span<const Value> values) const {
    return std::find(values.begin(), values.end(), v_) != values.end();
  }
  void reload(std::span<Value> values, std::vector<Op>& into) {
    if (uses(values)) std::replace(values.begin(), values.end(), v_, load(into));
  }

  void region(Region& region) {
    for (Node& node : region.nodes) {
      if (auto* op = std::get_if<Op>(&node)) {
        reload(op->args, insertions_.before[op]);
        if (uses(op->results)) insertions_.after[op].push_back(store());
      } else if (auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
        inside(**loop);
      } else {
        If& branch = *std::get<std::unique_ptr<If>>(node);
        std::vector<Value> compared = {branch.a, branch.b};
        reload(compared, insertions_.before[&branch]);
        branch.a = compared[0];
        branch.b = compared[1];
        this->region(branch.then_body);
        this->region(branch.else_body);
      }
    }
  }

  void inside(Loop& loop) {
    reload(loop.inits, insertions_.before[&loop]);
    if (loop.count == v_) loop.count = load(insertions_.before[&loop]);
    if (uses(loop.params)) insertions_.body_begin[&loop].push_back(store());
    region(loop.body);
    reload(loop.yields, insertions_.body_end[&loop]);
    if (uses(loop.results)) insertions_.after[&loop].push_back(store());
  }

  Program& program_;
  Value v_;
  int slot_;
  Insertions insertions_;
};

}  // namespace

bool spill_scalar(Program& program, const Liveness& live, int position) {
  std::vector<Touches> touches = TouchFinder(program, live).touches();
  Value best = no_value;
  int longest = 0;
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].type.kind != Kind::scalar || touches[v].in_hot_loop ||
        static_cast<Value>(v) == program.scratch ||  // stays what effects() knows it by
        !covers(live.of[v], position)) {
      continue;
    }
    const int its = idle(touches[v], position);
    if (its > longest) {
      longest = its;
      best = static_cast<Value>(v);
    }
  }
  if (best == no_value) return false;
  Spiller(program, best).run();
  return true;
}

}  // namespace tw
