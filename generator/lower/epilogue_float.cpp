// Floats on both sides, without scales:
//   out = clamp(sum a w + bias)
// Rows of the lhs are the user's own: no value beyond k is read, so the rest that does not fill an
// iteration goes one k at a time. Accumulator tiles want columns of the lhs, so its panels are
// packed.
#include <bit>

#include "lower/tile.h"

namespace tw {
namespace {

std::vector<Value> multiply_rows(const Tile1& t, Multiplier& multiplier, Multiplier& single) {
  multiplier.prepare(t);
  KState state{code_pointers(t, t.lhs), code_pointers(t, t.rhs), multiplier.start(t, {})};
  auto run = [&](Multiplier& with, Value count, int64_t k, bool hot) {
    state = k_loop(t, {count, k, k / with.group(), hot}, state,
                   [&](const auto& lhs, const auto& rhs, std::vector<Value> acc, int64_t g) {
                     with.step(t, lhs, rhs, g, acc);
                     return acc;
                   });
  };
  const int64_t unroll = t.v.knobs.unroll_k;
  const int shift = std::countr_zero(static_cast<uint64_t>(unroll));
  run(multiplier, t.b.op(OpCode::ishr, {t.padded}, {.imm = shift}, "k_steps"), unroll, true);
  if (unroll > 1) {
    run(single, t.b.op(OpCode::iand_imm, {t.padded}, {.imm = unroll - 1}, "k_rest"), 1, false);
  }
  return state.carried;
}

}  // namespace

Rows float_sums(const Tile1& t, Multiplier& multiplier, Multiplier& single) {
  return multiplier.finish(t, multiply_rows(t, multiplier, single));
}

}  // namespace tw
