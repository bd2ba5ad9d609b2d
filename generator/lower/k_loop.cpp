#include "lower/tile.h"

namespace tw {
namespace {

constexpr int64_t cache_line = 64;

/// Prefetches of one iteration: one for every line that it reads, dealt out over its groups. The
/// kernel's caller chose how far ahead.
class LinePrefetcher {
 public:
  LinePrefetcher(const Tile1& t, const KLoop& loop)
      : t_(t), groups_(loop.groups), bytes_(step_bytes(*t.rhs.layout, loop.k)) {
    // The hardware follows streams of unknown length; there is no count of lines to write.
    active_ = loop.hot && t.v.knobs.prefetch != Prefetch::none && bytes_.is_fixed();
    if (active_) distance_ = t.b.arg(ArgField::rhs_prefetch);
  }

  void begin(const std::vector<Value>& rhs) {
    ahead_.clear();
    if (!active_) return;
    for (const Value cursor : rhs) {
      ahead_.push_back(t_.b.op(OpCode::iadd, {cursor, distance_}, {}, "ahead", Role::address));
    }
  }

  void group(int64_t g) {
    const OpCode code =
        t_.v.knobs.prefetch == Prefetch::near ? OpCode::prefetch_near : OpCode::prefetch;
    const int64_t lines = (bytes_.fixed + cache_line - 1) / cache_line;
    for (const Value ahead : ahead_) {
      for (int64_t line = lines * g / groups_; line < lines * (g + 1) / groups_; ++line) {
        t_.b.op(code, {ahead}, {.offset = line * cache_line});
      }
    }
  }

 private:
  const Tile1& t_;
  int64_t groups_;
  Length bytes_;
  bool active_ = false;
  Value distance_ = no_value;
  std::vector<Value> ahead_;
};

}  // namespace

KState k_loop(const Tile1& t, const KLoop& loop, const KState& start, const KBody& body) {
  const size_t lhs = start.lhs.size();
  const size_t rhs = start.rhs.size();
  std::vector<Value> inits = start.lhs;
  inits.insert(inits.end(), start.rhs.begin(), start.rhs.end());
  inits.insert(inits.end(), start.carried.begin(), start.carried.end());
  auto split = [&](const std::vector<Value>& all) {
    const auto first = all.begin();
    const auto second = first + static_cast<std::ptrdiff_t>(lhs);
    const auto third = second + static_cast<std::ptrdiff_t>(rhs);
    return KState{{first, second}, {second, third}, {third, all.end()}};
  };
  LinePrefetcher prefetcher(t, loop);
  auto write = [&](const std::vector<Value>& params) {
    const KState at = split(params);
    std::vector<Value> carried = at.carried;
    prefetcher.begin(at.rhs);
    for (int64_t g = 0; g < loop.groups; ++g) {
      prefetcher.group(g);
      carried = body(at.lhs, at.rhs, std::move(carried), g);
    }
    std::vector<Value> yields;
    for (const Value v : at.lhs) yields.push_back(t.b.add(v, step_bytes(*t.lhs.layout, loop.k)));
    for (const Value v : at.rhs) yields.push_back(t.b.add(v, step_bytes(*t.rhs.layout, loop.k)));
    yields.insert(yields.end(), carried.begin(), carried.end());
    return yields;
  };
  if (!loop.hot) return split(t.b.loop("k_rest", loop.count, inits, write));
  const int64_t macs = t.v.tile.m * t.v.tile.n.at({}) * loop.k;
  return split(t.b.hot_loop("k", loop.count, inits, macs, write));
}

}  // namespace tw
