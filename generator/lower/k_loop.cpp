#include "lower/tile.h"

namespace tw {
namespace {

constexpr int64_t cache_line = 64;

/// One prefetch for every line that this iteration reads; the caller of the kernel chose how far.
void prefetch_lines(const Tile1& t, const std::vector<Value>& rhs, Value distance, int64_t k) {
  const Length bytes = step_bytes(*t.rhs.layout, k);
  if (!bytes.is_fixed()) return;  // the hardware follows such streams; no count of lines to write
  for (const Value cursor : rhs) {
    const Value ahead = t.b.op(OpCode::iadd, {cursor, distance}, {}, "ahead", Role::address);
    for (int64_t line = 0; line * cache_line < bytes.fixed; ++line) {
      t.b.op(OpCode::prefetch, {ahead}, {.offset = line * cache_line});
    }
  }
}

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
  const bool prefetches = loop.hot && t.v.knobs.prefetch;
  const Value distance = prefetches ? t.b.arg(ArgField::rhs_prefetch) : no_value;
  auto write = [&](const std::vector<Value>& params) {
    const KState at = split(params);
    if (prefetches) prefetch_lines(t, at.rhs, distance, loop.k);
    const std::vector<Value> carried = body(at.lhs, at.rhs, at.carried);
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
