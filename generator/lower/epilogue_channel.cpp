// Sums over all of k at once, of formats with one scale per output channel and one scale and zero
// point per lhs row:
//   out = clamp(float(sum a q + negated_zero_point * sum q) * (scale_w * scale_a) + bias)
#include "lower/tile.h"
#include "model/operand_contract.h"

namespace tw {

KState multiply_whole(const Tile1& t, Accumulation& how, const std::vector<Start>& starts,
                      Value k) {
  how.prepare(t);
  KState state{code_pointers(t, t.lhs), code_pointers(t, t.rhs), how.start(t, starts)};
  const auto run = [&](Value count, int64_t depth, bool hot) {
    state = step_loop(t, {count, depth, depth / how.group(), hot}, state, how);
  };
  const int64_t unroll = t.v.knobs.unroll_k;
  const int64_t granule = t.v.lhs.k_multiple;
  run(quotient(t.b, k, unroll, "k_steps"), unroll, true);
  if (unroll > granule) {
    const Value rest = t.b.op(OpCode::iand_imm, {k}, {.imm = unroll - 1});
    run(quotient(t.b, rest, granule, "k_rest"), granule, false);
  }
  return state;
}

std::vector<Value> multiply_all(const Tile1& t, Accumulation& how,
                                const std::vector<Start>& starts) {
  return multiply_whole(t, how, starts, t.padded).carried;
}

namespace {

/// What each row starts from; empty when accumulators begin with nothing, whether or not the layout
/// keeps sums for zero points of columns.
std::vector<Start> make_starts(const Tile1& t) {
  std::vector<Start> starts;
  if (start_factor(t.v) == 0) return starts;
  const std::vector<Value> pointers = field_pointers(t, t.lhs, FieldKind::sums);
  const bool ready = loads_starts(contract_of(t.v));
  const Value zero = ready ? no_value : t.b.op(OpCode::zero, {}, {}, "zero", Role::operand);
  for (int64_t r = 0; r < t.v.tile.m.fixed; ++r) {
    const Place sum = lhs_row(t, pointers, r, FieldKind::sums);
    starts.push_back(ready ? Start{sum} : Start{sum, zero, negated_start(t, sum)});
  }
  return starts;
}

}  // namespace

Rows channel_sums(const Tile1& t, Multiplier& multiplier) {
  return multiplier.finish(t, multiply_all(t, multiplier, make_starts(t)));
}

}  // namespace tw
