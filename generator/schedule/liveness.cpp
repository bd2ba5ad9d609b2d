#include "schedule/liveness.h"

#include <algorithm>
#include <map>

namespace tw {

bool overlap(const Intervals& a, const Intervals& b) {
  for (size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    if (a[i].begin < b[j].end && b[j].begin < a[i].end) return true;
    (a[i].end <= b[j].end ? i : j) += 1;
  }
  return false;
}

bool covers(const Intervals& intervals, int position) {
  return std::any_of(intervals.begin(), intervals.end(),
                     [&](const Interval& i) { return i.begin <= position && position < i.end; });
}

Fullest fullest(const std::vector<const Intervals*>& all) {
  std::map<int, int> change;
  for (const Intervals* intervals : all) {
    for (const Interval& i : *intervals) {
      ++change[i.begin];
      --change[i.end];
    }
  }
  Fullest found;
  int now = 0;
  for (const auto& [position, by] : change) {
    now += by;
    if (now > found.most) found = {position, now};
  }
  return found;
}

static Intervals tidy(Intervals all) {
  if (all.size() < 2) return all;
  std::sort(all.begin(), all.end(),
            [](const Interval& x, const Interval& y) { return x.begin < y.begin; });
  Intervals merged;
  for (const Interval& next : all) {
    if (!merged.empty() && next.begin <= merged.back().end) {
      merged.back().end = std::max(merged.back().end, next.end);
    } else {
      merged.push_back(next);
    }
  }
  return merged;
}

Intervals merge(const Intervals& a, const Intervals& b) {
  Intervals all = a;
  all.insert(all.end(), b.begin(), b.end());
  return tidy(std::move(all));
}

bool Liveness::in_hot_loop(int at) const {
  return std::any_of(loops.begin(), loops.end(), [&](const Span& span) {
    return span.loop->hot && span.head < at && at <= span.tail;
  });
}

void for_each_use(const Region& region, const std::function<void(Value)>& use) {
  for (const Node& node : region.nodes) {
    if (const auto* op = std::get_if<Op>(&node)) {
      for (Value v : op->args) use(v);
    } else if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
      use((*loop)->count);
      for (Value v : (*loop)->inits) use(v);
      for (Value v : (*loop)->yields) use(v);
    } else {
      const If& branch = *std::get<std::unique_ptr<If>>(node);
      use(branch.a);
      use(branch.b);
    }
    for_each_region(node, [&](const Region& inner) { for_each_use(inner, use); });
  }
}

namespace {

class Walker {
 public:
  Walker(const Program& program, const std::vector<const Op*>& in_place)
      : program_(program),
        in_place_(in_place),
        open_end_(program.values.size(), closed),
        first_defined_(program.values.size(), -1) {
    live_.of.resize(program.values.size());
  }

  Liveness run() {
    define(program_.args, 0);
    number(program_.body);
    backward(program_.body);
    close_definition(program_.args, 0);
    for (Intervals& intervals : live_.of) intervals = tidy(std::move(intervals));
    return std::move(live_);
  }

 private:
  static constexpr int closed = -1;
  struct Ends {
    int middle = 0;  // If: where the else body begins
    int last = 0;    // Loop: tail; If: join
  };

  int take() { return (next_ += 2) - 2; }
  void define(Value v, int at) { first_defined_[static_cast<size_t>(v)] = at; }

  void number(const Region& region) {
    for (const Node& node : region.nodes) {
      if (const auto* op = std::get_if<Op>(&node)) {
        const int at = live_.position[op] = take();
        for (Value v : op->results) define(v, at);
      } else if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
        number(**loop);
      } else {
        const If& branch = *std::get<std::unique_ptr<If>>(node);
        live_.position[&branch] = take();
        number(branch.then_body);
        const int middle = take();
        number(branch.else_body);
        ends_[&branch] = {middle, take()};
      }
    }
  }

  void number(const Loop& loop) {
    const int head = live_.position[&loop] = take();
    const size_t index = live_.loops.size();
    live_.loops.push_back({&loop, head, head});
    for (Value v : loop.params) define(v, head);
    number(loop.body);
    const int tail = take();
    live_.loops[index].tail = tail;
    ends_[&loop] = {0, tail};
    for (Value v : loop.results) define(v, tail);
  }

  /// The values that are read where `v` is used.
  template <typename F>
  void for_each_read(Value v, F&& read) {
    if (const Op* op = in_place(v)) {
      for (Value arg : op->args) for_each_read(arg, read);
    } else {
      read(v);
    }
  }
  [[nodiscard]] const Op* in_place(Value v) const {
    return in_place_.empty() ? nullptr : in_place_[static_cast<size_t>(v)];
  }

  void use(Value v, int end) {
    for_each_read(v, [&](Value read) { open(read, end); });
  }
  void open(Value v, int end) {
    if (int& at = open_end_[static_cast<size_t>(v)]; at == closed) at = end;
  }
  void close(Value v, int begin) {
    int& end = open_end_[static_cast<size_t>(v)];
    if (end > begin) live_.of[static_cast<size_t>(v)].push_back({begin, end});
    end = closed;
  }
  /// Closes at the definition, where a value lives even if nobody uses it.
  void close_definition(Value v, int begin) {
    open(v, begin + 1);
    close(v, begin);
  }

  std::vector<Value> close_all(int begin) {
    std::vector<Value> were_open;
    for (size_t v = 0; v < open_end_.size(); ++v) {
      if (open_end_[v] == closed) continue;
      were_open.push_back(static_cast<Value>(v));
      close(static_cast<Value>(v), begin);
    }
    return were_open;
  }

  void backward(const Region& region) {
    for (auto node = region.nodes.rbegin(); node != region.nodes.rend(); ++node) {
      if (const auto* op = std::get_if<Op>(&*node)) {
        backward(*op);
      } else if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&*node)) {
        backward(**loop);
      } else {
        backward(*std::get<std::unique_ptr<If>>(*node));
      }
    }
  }

  void backward(const Op& op) {
    if (!op.results.empty() && in_place(op.results[0]) != nullptr) return;
    const int at = live_.position.at(&op);
    for (size_t i = 0; i < op.results.size(); ++i) {
      const bool early = op.row != nullptr && op.row->operands[i].early_clobber;
      open(op.results[i], at + 2);
      close_definition(op.results[i], early ? at : at + 1);
    }
    for (Value v : op.args) use(v, at + 1);
  }

  void backward(const Loop& loop) {
    const int head = live_.position.at(&loop);
    const int tail = ends_.at(&loop).last;
    for (Value v : loop.results) {
      open(v, tail + 2);
      close_definition(v, tail + 1);
    }
    // What the body takes from outside stays as long as the loop runs.
    for_each_use(loop.body, [&](Value v) { hold(v, head, tail); });
    for (Value v : loop.yields) hold(v, head, tail);
    if (!in_place_.empty()) hold(loop.count, head, tail);
    for (Value v : loop.yields) use(v, tail + 1);
    backward(loop.body);
    for (Value v : loop.params) {
      open(v, head + 2);
      close_definition(v, head + 1);
    }
    if (loop.counter != no_value) {
      live_.of[static_cast<size_t>(loop.counter)].push_back({head + 1, tail + 1});
    }
    for (Value v : loop.inits) use(v, head + 1);
    use(loop.count, head + 1);
  }

  void hold(Value v, int head, int tail) {
    for_each_read(v, [&](Value read) {
      if (first_defined_[static_cast<size_t>(read)] < head) open(read, tail + 2);
    });
  }

  void backward(const If& branch) {
    const int at = live_.position.at(&branch);
    const auto [middle, join] = ends_.at(&branch);
    const std::vector<Value> after = close_all(join);
    for (Value v : after) open(v, join);
    backward(branch.else_body);
    const std::vector<Value> into_else = close_all(middle);
    for (Value v : after) open(v, middle);
    backward(branch.then_body);
    const std::vector<Value> into_then = close_all(at + 1);
    for (Value v : into_else) open(v, at + 1);
    for (Value v : into_then) open(v, at + 1);
    use(branch.a, at + 1);
    use(branch.b, at + 1);
  }

  const Program& program_;
  const std::vector<const Op*>& in_place_;
  Liveness live_;
  std::vector<int> open_end_;       // end of the interval being built, per value
  std::vector<int> first_defined_;  // position, per value
  std::unordered_map<const void*, Ends> ends_;
  int next_ = 2;
};

}  // namespace

Liveness liveness(const Program& program, const std::vector<const Op*>& in_place) {
  return Walker(program, in_place).run();
}

}  // namespace tw
