#include <array>
#include <bit>

#include "lower/tile.h"
#include "model/reject.h"

namespace tw {
namespace {

/// Prefetches of one iteration: one for every line that it reads, dealt out over its groups. The
/// kernel's caller chose how far ahead. Near ones follow the cursors, far ones have their own;
/// those beside loads are load_codes()'s.
class LinePrefetcher {
 public:
  LinePrefetcher(const Tile1& t, const KLoop& loop)
      : t_(t), groups_(loop.groups), bytes_(step_bytes(*t.rhs.layout, loop.k)) {
    // The hardware follows streams of unknown length; there is no count of lines to write.
    if (t.beside != nullptr) t.beside->clear();
    if (!loop.hot || !bytes_.is_fixed()) return;
    near_ = t.v.knobs.prefetch == Prefetch::near;
    beside_ = t.beside != nullptr;
    if (near_ || beside_) distance_ = t.b.arg(ArgField::rhs_prefetch);
    if (t.ahead != nullptr) cursors_ = t.ahead->cursors;
  }

  /// Values that the loop carries for it.
  [[nodiscard]] const std::vector<Value>& carried() const { return cursors_; }

  void begin(const std::vector<Value>& rhs, const std::vector<Value>& cursors) {
    ahead_ = cursors;
    if (!near_ && !beside_) return;
    for (const Value cursor : rhs) {
      const Value at = t_.b.op(OpCode::iadd, {cursor, distance_}, {}, "ahead", Role::address);
      if (near_) ahead_.push_back(at);
      if (beside_) t_.beside->emplace(cursor, at);
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
  bool near_ = false, beside_ = false;
  Value distance_ = no_value;
  std::vector<Value> cursors_;
  std::vector<Value> ahead_;
};

/// `fields`: what those of fields that stand apart are moved by.
std::vector<Value> moved(Builder& b, const Layout& layout, std::vector<Value> cursors, Length bytes,
                         Length fields = 0) {
  const size_t codes = code_cursors(layout, cursors).size();
  for (size_t i = 0; i < cursors.size(); ++i) {
    cursors[i] = b.add(cursors[i], i < codes ? bytes : fields);
  }
  return cursors;
}

/// Bytes of fields apart that so many values of k have; of long blocks those stay until one ends.
Length fields_of_whole_blocks(const Layout& layout, int64_t k) {
  if (layout.block == 0 || has_long_blocks(layout)) return 0;
  return apart_bytes(layout) * (k / layout.block);
}

using Lists = std::array<std::vector<Value>, 4>;

std::vector<Value> joined(const Lists& lists) {
  std::vector<Value> all;
  for (const std::vector<Value>& list : lists) all.insert(all.end(), list.begin(), list.end());
  return all;
}

/// Lists as long as those.
Lists split(const std::vector<Value>& all, const Lists& like) {
  Lists lists;
  auto at = all.begin();
  for (size_t i = 0; i < lists.size(); ++i) {
    const auto end = at + static_cast<std::ptrdiff_t>(like[i].size());
    lists[i].assign(at, end);
    at = end;
  }
  return lists;
}

}  // namespace

KState k_loop(const Tile1& t, const KLoop& loop, const KState& start, const KBody& body) {
  LinePrefetcher prefetcher(t, loop);
  // What the loop carries: cursors, those of far prefetches, and the caller's values.
  const Lists inits = {start.lhs, start.rhs, prefetcher.carried(), start.carried};
  auto write = [&](const std::vector<Value>& params) {
    auto [lhs, rhs, ahead, carried] = split(params, inits);
    prefetcher.begin(rhs, ahead);
    for (int64_t g = 0; g < loop.groups; ++g) {
      prefetcher.group(g);
      carried = body(lhs, rhs, std::move(carried), g);
    }
    const bool by_k = loop.rhs_bytes == Length{};
    const Length rhs_bytes = by_k ? step_bytes(*t.rhs.layout, loop.k) : loop.rhs_bytes;
    return joined(
        {moved(t.b, *t.lhs.layout, lhs, step_bytes(*t.lhs.layout, loop.k),
               fields_of_whole_blocks(*t.lhs.layout, loop.k)),
         moved(t.b, *t.rhs.layout, rhs, rhs_bytes, fields_of_whole_blocks(*t.rhs.layout, loop.k)),
         prefetcher.next(ahead), carried});
  };
  const int64_t macs = t.v.tile.m.at({}) * t.v.tile.n.at({}) * loop.k;
  auto [lhs, rhs, ahead, carried] =
      split(loop.hot ? t.b.hot_loop("k", loop.count, joined(inits), macs, write)
                     : t.b.loop("k_rest", loop.count, joined(inits), write),
            inits);
  if (!ahead.empty()) t.ahead->cursors = std::move(ahead);
  return {std::move(lhs), std::move(rhs), std::move(carried)};
}

KState step_loop(const Tile1& t, const KLoop& loop, const KState& start, Accumulation& how,
                 int64_t first) {
  return k_loop(t, loop, start,
                [&](const auto& lhs, const auto& rhs, std::vector<Value> acc, int64_t g) {
                  how.step(t, lhs, rhs, first + g, acc);
                  return acc;
                });
}

Value quotient(Builder& b, Value x, int64_t by, const std::string& name) {
  return b.op(OpCode::ishr, {x}, {.imm = std::countr_zero(static_cast<uint64_t>(by))}, name);
}

KState block_loop(const Tile1& t, Value count, const KState& start, const BlockBody& body) {
  const std::vector<Value> ahead = t.ahead != nullptr ? t.ahead->cursors : std::vector<Value>();
  const Lists inits = {start.lhs, start.rhs, ahead, start.carried};
  const auto beside = [&](const std::vector<Value>& cursors, const Layout& layout) {
    if (!has_long_blocks(layout)) return cursors;
    return moved(t.b, layout, cursors, block_field_bytes(layout) - codes_in_block(layout),
                 apart_bytes(layout));
  };
  const auto write = [&](const std::vector<Value>& params) {
    auto [lhs, rhs, far, carried] = split(params, inits);
    if (t.ahead != nullptr) t.ahead->cursors = far;
    KState block{lhs, rhs, carried};
    carried = body(block);
    if (t.ahead != nullptr) {
      far = t.ahead->cursors;
      for (Value& cursor : far) {
        cursor = t.b.op(OpCode::iadd, {cursor, t.ahead->beside}, {}, "ahead", Role::address);
      }
    }
    return joined({beside(block.lhs, *t.lhs.layout), beside(block.rhs, *t.rhs.layout), far,
                   std::move(carried)});
  };
  auto [lhs, rhs, far, carried] = split(t.b.loop("block", count, joined(inits), write), inits);
  if (t.ahead != nullptr) t.ahead->cursors = std::move(far);
  return {std::move(lhs), std::move(rhs), std::move(carried)};
}

KState short_blocks(const Tile1& t, Value count, const KState& start, int64_t groups,
                    const std::function<void(KState& super)>& begin, const KBody& body) {
  const Layout& rhs = t.v.rhs;
  const auto blocks = [&](Value number, const KState& state) {
    return k_loop(t, {number, rhs.block, groups, true}, state, body);
  };
  if (!has_steps(rhs)) return blocks(count, start);
  return block_loop(t, count, start, [&](KState& super) {
    begin(super);
    super = blocks(t.b.constant(rhs.super_block / rhs.block), super);
    return super.carried;
  });
}

std::vector<Value> k_of_block(const Tile1& t, KState& block, int64_t group,
                              const std::vector<Value>& carried, const KBody& body) {
  const int64_t k = t.v.knobs.unroll_k;
  if (k % group != 0) {
    reject("unroll_k {} is not possible: codes of {} values of k share bytes", k, group);
  }
  const Value steps = quotient(t.b, t.b.arg(ArgField::block), k, "steps");
  const auto codes = [&](const std::vector<Value>& cursors, const Layout& layout) {
    return layout.block == 0 ? cursors : moved(t.b, layout, cursors, codes_in_block(layout));
  };
  const KState start{codes(block.lhs, *t.lhs.layout), codes(block.rhs, *t.rhs.layout), carried};
  KState end = k_loop(t, {steps, k, k / group, true}, start, body);
  block.lhs = std::move(end.lhs);
  block.rhs = std::move(end.rhs);
  return end.carried;
}

}  // namespace tw
