#include "emit/c_lives.h"

#include <algorithm>

namespace tw {
namespace {

/// Positions: every operation takes one; a loop takes one for its start (initial values are read,
/// parameters written), one for its end (next values are read, parameters written again) and one
/// after it (results).
class Walker {
 public:
  Walker(const Program& program, const std::vector<bool>& in_place,
         const std::vector<const Op*>& definition)
      : in_place_(in_place), definition_(definition) {
    lives_.of.resize(program.values.size());
    lives_.region.assign(program.values.size(), 0);
    last_.assign(program.values.size(), -1);
    begin_.assign(program.values.size(), 0);
    lives_.parents.push_back(-1);
    lives_.loop_depth.push_back(0);
    define(program.args, 0);
    visit(program.body);
    for (size_t v = 0; v < program.values.size(); ++v) {
      lives_.of[v].insert(lives_.of[v].begin(), {begin_[v], std::max(last_[v], begin_[v])});
    }
  }
  Lives take() { return std::move(lives_); }

 private:
  struct OpenLoop {
    int body_region;
    std::vector<Value> outside;  ///< values from outside that are used inside: alive to the end
  };

  void define(Value v, int region) {
    lives_.region[static_cast<size_t>(v)] = region;
    begin_[static_cast<size_t>(v)] = position_;
  }

  [[nodiscard]] bool inside(int region, int ancestor) const {
    while (region != -1 && region != ancestor) region = lives_.parents[static_cast<size_t>(region)];
    return region == ancestor;
  }

  void use(Value v) {
    if (in_place_[static_cast<size_t>(v)]) {
      for (Value arg : definition_[static_cast<size_t>(v)]->args) use(arg);
      return;
    }
    last_[static_cast<size_t>(v)] = position_;
    for (OpenLoop& loop : open_) {
      // Parameters are declared outside of the body but live anew in each iteration.
      const bool is_own =
          is_param_of(v, loop) || inside(lives_.region[static_cast<size_t>(v)], loop.body_region);
      if (!is_own) loop.outside.push_back(v);
    }
  }

  [[nodiscard]] bool is_param_of(Value v, const OpenLoop& loop) const {
    const Loop* owner = loops_[static_cast<size_t>(&loop - open_.data())];
    // A parameter of a loop further in was declared inside this one already.
    return std::find(owner->params.begin(), owner->params.end(), v) != owner->params.end();
  }

  int add_region(bool is_loop) {
    lives_.parents.push_back(region_);
    lives_.loop_depth.push_back(lives_.loop_depth[static_cast<size_t>(region_)] +
                                (is_loop ? 1 : 0));
    return static_cast<int>(lives_.parents.size()) - 1;
  }

  void visit_in(const Region& region, int index) {
    const int outer = region_;
    region_ = index;
    visit(region);
    region_ = outer;
  }

  void visit(const Region& region) {
    for (const Node& node : region.nodes) {
      ++position_;
      if (const auto* op = std::get_if<Op>(&node)) {
        visit_op(*op);
      } else if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
        visit_loop(**loop);
      } else {
        const auto& branch = std::get<std::unique_ptr<If>>(node);
        use(branch->a);
        use(branch->b);
        visit_in(branch->then_body, add_region(false));
        visit_in(branch->else_body, add_region(false));
      }
    }
  }

  void visit_op(const Op& op) {
    const bool skipped = !op.results.empty() && in_place_[static_cast<size_t>(op.results[0])];
    if (!skipped) {
      for (Value arg : op.args) use(arg);
    }
    for (Value result : op.results) define(result, region_);
  }

  void visit_loop(const Loop& loop) {
    use(loop.count);
    for (Value init : loop.inits) use(init);
    for (Value param : loop.params) {
      define(param, region_);
      last_[static_cast<size_t>(param)] = position_ + 1;
    }
    const int body = add_region(true);
    open_.push_back({body, {}});
    loops_.push_back(&loop);
    use(loop.count);  // compared with in every iteration
    visit_in(loop.body, body);
    ++position_;
    for (Value yield : loop.yields) use(yield);
    const int end = position_ + 1;
    for (Value v : open_.back().outside) last_[static_cast<size_t>(v)] = end;
    open_.pop_back();
    loops_.pop_back();
    for (Value param : loop.params) {
      lives_.of[static_cast<size_t>(param)].push_back({position_, end});
    }
    position_ = end;
    for (Value result : loop.results) define(result, region_);
  }

  const std::vector<bool>& in_place_;
  const std::vector<const Op*>& definition_;
  Lives lives_;
  std::vector<int> begin_, last_;
  std::vector<OpenLoop> open_;
  std::vector<const Loop*> loops_;
  int region_ = 0;
  int position_ = 0;
};

}  // namespace

Lives find_lives(const Program& program, const std::vector<bool>& in_place,
                 const std::vector<const Op*>& definition) {
  return Walker(program, in_place, definition).take();
}

}  // namespace tw
