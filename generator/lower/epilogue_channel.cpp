// Sums over all of k at once, of formats with one scale per output channel and one scale and zero
// point per lhs row:
//   out = clamp(float(sum a q + negated_zero_point * sum q) * (scale_w * scale_a) + bias)
#include <bit>

#include "lower/tile.h"

namespace tw {

std::vector<Value> multiply_all(const Tile1& t, Accumulation& how, const std::vector<Place>& sums) {
  how.prepare(t);
  KState state{code_pointers(t, t.lhs), code_pointers(t, t.rhs), how.start(t, sums)};
  auto run = [&](Value count, int64_t k, bool hot) {
    state = k_loop(t, {count, k, k / how.group(), hot}, state,
                   [&](const auto& lhs, const auto& rhs, std::vector<Value> acc, int64_t g) {
                     how.step(t, lhs, rhs, g, acc);
                     return acc;
                   });
  };
  const int64_t unroll = t.v.knobs.unroll_k;
  const int64_t granule = t.v.lhs.k_multiple;
  auto shift = [](int64_t n) { return std::countr_zero(static_cast<uint64_t>(n)); };
  run(t.b.op(OpCode::ishr, {t.padded}, {.imm = shift(unroll)}, "k_steps"), unroll, true);
  if (unroll > granule) {
    const Value rest = t.b.op(OpCode::iand_imm, {t.padded}, {.imm = unroll - 1});
    run(t.b.op(OpCode::ishr, {rest}, {.imm = shift(granule)}, "k_rest"), granule, false);
  }
  return state.carried;
}

namespace {

/// Where each row's starting sum lies; empty when the layout keeps none.
std::vector<Place> starting_sums(const Tile1& t) {
  std::vector<Place> sums;
  if (field_index(t.v.lhs, FieldKind::sums) < 0) return sums;
  const std::vector<Value> pointers = field_pointers(t, t.lhs, FieldKind::sums);
  for (int64_t r = 0; r < t.v.tile.m.fixed; ++r) {
    sums.push_back(lhs_row(t, pointers, r, FieldKind::sums));
  }
  return sums;
}

}  // namespace

Rows channel_sums(const Tile1& t, Multiplier& multiplier) {
  const std::vector<Place> starts = starting_sums(t);
  return multiplier.finish(t, multiply_all(t, multiplier, starts));
}

}  // namespace tw
