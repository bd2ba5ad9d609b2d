#include <array>

#include "lower/tile.h"

namespace tw {
namespace {

constexpr int64_t cache_line = 64;

/// Prefetches of one iteration: one for every line that it reads, dealt out over its groups. The
/// kernel's caller chose how far ahead. Near ones follow the cursors, far ones have their own.
class LinePrefetcher {
 public:
  LinePrefetcher(const Tile1& t, const KLoop& loop)
      : t_(t), groups_(loop.groups), bytes_(step_bytes(*t.rhs.layout, loop.k)) {
    // The hardware follows streams of unknown length; there is no count of lines to write.
    if (!loop.hot || !bytes_.is_fixed()) return;
    near_ = t.v.knobs.prefetch == Prefetch::near;
    if (near_) distance_ = t.b.arg(ArgField::rhs_prefetch);
    if (t.ahead != nullptr) cursors_ = t.ahead->cursors;
  }

  /// Values that the loop carries for it.
  [[nodiscard]] const std::vector<Value>& carried() const { return cursors_; }

  void begin(const std::vector<Value>& rhs, const std::vector<Value>& cursors) {
    ahead_ = cursors;
    if (!near_) return;
    for (const Value cursor : rhs) {
      ahead_.push_back(t_.b.op(OpCode::iadd, {cursor, distance_}, {}, "ahead", Role::address));
    }
  }

  void group(int64_t g) {
    const OpCode code = near_ ? OpCode::prefetch_near : OpCode::prefetch;
    const int64_t lines = (bytes_.fixed + cache_line - 1) / cache_line;
    for (const Value ahead : ahead_) {
      for (int64_t line = lines * g / groups_; line < lines * (g + 1) / groups_; ++line) {
        t_.b.op(code, {ahead}, {.offset = line * cache_line});
      }
    }
  }

  /// The carried values of the next iteration.
  [[nodiscard]] std::vector<Value> next(const std::vector<Value>& cursors) const {
    std::vector<Value> moved;
    for (const Value cursor : cursors) {
      moved.push_back(t_.b.op(OpCode::iadd, {cursor, t_.ahead->step}, {}, "ahead", Role::address));
    }
    return moved;
  }

 private:
  const Tile1& t_;
  int64_t groups_;
  Length bytes_;
  bool near_ = false;
  Value distance_ = no_value;
  std::vector<Value> cursors_;
  std::vector<Value> ahead_;
};

}  // namespace

KState k_loop(const Tile1& t, const KLoop& loop, const KState& start, const KBody& body) {
  LinePrefetcher prefetcher(t, loop);
  // What the loop carries: cursors, those of far prefetches, and the caller's values.
  const std::vector<Value>* const parts[] = {&start.lhs, &start.rhs, &prefetcher.carried(),
                                             &start.carried};
  std::vector<Value> inits;
  for (const std::vector<Value>* part : parts)
    inits.insert(inits.end(), part->begin(), part->end());
  auto split = [&](const std::vector<Value>& all) {
    std::array<std::vector<Value>, 4> values;
    auto at = all.begin();
    for (size_t i = 0; i < values.size(); ++i) {
      const auto end = at + static_cast<std::ptrdiff_t>(parts[i]->size());
      values[i].assign(at, end);
      at = end;
    }
    return values;
  };
  auto write = [&](const std::vector<Value>& params) {
    auto [lhs, rhs, ahead, carried] = split(params);
    prefetcher.begin(rhs, ahead);
    for (int64_t g = 0; g < loop.groups; ++g) {
      prefetcher.group(g);
      carried = body(lhs, rhs, std::move(carried), g);
    }
    std::vector<Value> yields;
    for (const Value v : lhs) yields.push_back(t.b.add(v, step_bytes(*t.lhs.layout, loop.k)));
    for (const Value v : rhs) yields.push_back(t.b.add(v, step_bytes(*t.rhs.layout, loop.k)));
    const std::vector<Value> moved = prefetcher.next(ahead);
    yields.insert(yields.end(), moved.begin(), moved.end());
    yields.insert(yields.end(), carried.begin(), carried.end());
    return yields;
  };
  const int64_t macs = t.v.tile.m.at({}) * t.v.tile.n.at({}) * loop.k;
  auto [lhs, rhs, ahead, carried] =
      split(loop.hot ? t.b.hot_loop("k", loop.count, inits, macs, write)
                     : t.b.loop("k_rest", loop.count, inits, write));
  if (!ahead.empty()) t.ahead->cursors = std::move(ahead);
  return {std::move(lhs), std::move(rhs), std::move(carried)};
}

}  // namespace tw
