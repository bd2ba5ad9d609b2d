// Floats on the left, and on the right floats, or codes with one scale per output channel:
//   out = clamp(sum a w + bias)
//   out = clamp((sum a q) * scale + bias)
// or with scales, and maybe zero points, per block of k, which weights are made with:
//   out = clamp(sum a ((q - zero point) * scale) + bias)
// Rows of the lhs are the user's own: no value beyond k is read, so the rest that does not fill an
// iteration goes one k at a time, of codes a lane's bytes one after the other. Accumulator tiles
// want columns of the lhs, so its panels are packed; there weights in blocks are f16, and rounded.
#include "lower/tile.h"

namespace tw {
namespace {

/// Over `depth` values of k from `state` on; returns where it got to.
KState multiply_rows(const Tile1& t, Multiplier& multiplier, Multiplier& single, KState state,
                     Value depth) {
  const auto whole = [&](Value k, int64_t step, bool hot) {
    const Value count = quotient(t.b, k, step, hot ? "k_steps" : "");
    state = step_loop(t, {count, step, step / multiplier.group(), hot}, state, multiplier);
  };
  const auto rest = [&](int64_t of) {
    return t.b.op(OpCode::iand_imm, {depth}, {.imm = of - 1}, "k_rest");
  };
  const int64_t unroll = t.v.knobs.unroll_k;
  const int64_t kr = t.v.rhs.order.kr;
  const int64_t group = first_k(t.v.rhs, 1);
  whole(depth, unroll, true);
  if (kr == 1) {
    if (unroll == 1) return state;
    single.prepare(t);
    return step_loop(t, {rest(unroll), 1, 1, false}, state, single);
  }
  if (unroll > group) whole(rest(unroll), group, false);
  single.prepare(t);
  // Parts of a group of codes share the bytes of a lane.
  const KState start = state;
  for (int64_t k = 0; k < group; k += kr) {
    const Value left = t.b.op(OpCode::isub_sat, {rest(group), t.b.constant(k)}, {}, "left");
    const Value count = t.b.op(OpCode::imin, {left, t.b.constant(kr)}, {}, "k_rest");
    state = {start.lhs, start.rhs, state.carried};
    state = step_loop(t, {count, 1, 1, false, 1}, state, single, k);
  }
  return state;
}

/// Where a row's values of a chunk are, whose pointer stands there.
Value chunk_of(const Tile1& t, Value place) {
  Builder& b = t.b;
  const Value pointer = b.op(OpCode::load_pointer, {place}, {}, "chunk");
  const Value pad = b.arg(ArgField::lhs_pad);
  const Value moved = b.op(OpCode::iadd, {pointer, b.arg(ArgField::lhs_offset)});
  const Value differs = b.op(OpCode::isub, {pointer, pad});
  return b.op(OpCode::if_null, {differs, pointer, moved}, {}, "row", Role::address);
}

KState first_state(const Tile1& t, Multiplier& multiplier) {
  multiplier.prepare(t);
  return {code_pointers(t, t.lhs), code_pointers(t, t.rhs), multiplier.start(t, {})};
}

}  // namespace

std::vector<Value> multiply_blocks(const Tile1& t, Accumulation& multiplier) {
  multiplier.prepare(t);
  const Layout& weights = *t.rhs.layout;
  const Value beyond = beyond_codes(t, t.rhs, FieldKind::scales);
  const auto begin = [&](std::vector<Value> rhs) {
    if (is_behind_codes(weights, FieldKind::scales)) rhs = ends_of_codes(t, rhs, weights);
    multiplier.begin_block(t, moved_beyond(t, rhs, beyond));
  };
  const auto step = [&](const auto& lhs, const auto& rhs, std::vector<Value> acc, int64_t g) {
    if (!has_long_blocks(weights) && g == 0) begin(rhs);
    multiplier.step(t, lhs, code_cursors(weights, rhs), g, acc);
    return acc;
  };
  const KState state{code_pointers(t, t.lhs), block_cursors(t, t.rhs), multiplier.start(t, {})};
  const int64_t group = multiplier.group();
  if (!has_long_blocks(weights)) {
    const int64_t k = weights.block;
    return k_loop(t, {count_blocks(t), k, k / group, true}, state, step).carried;
  }
  return block_loop(t, t.blocks, state,
                    [&](KState& block) {
                      begin(block.rhs);
                      return k_of_block(t, block, group, block.carried, step);
                    })
      .carried;
}

Rows float_sums(const Tile1& t, Multiplier& multiplier, Multiplier& single) {
  if (t.rhs.layout->block != 0) return multiplier.finish(t, multiply_blocks(t, multiplier));
  const KState start = first_state(t, multiplier);
  return multiplier.finish(t, multiply_rows(t, multiplier, single, start, t.padded).carried);
}

Rows indirect_sums(const Tile1& t, Multiplier& multiplier, Multiplier& single) {
  const auto chunk = [&](KState& at) {
    KState values = at;
    for (Value& row : values.lhs) row = chunk_of(t, row);
    values = multiply_rows(t, multiplier, single, values, t.b.arg(ArgField::block));
    at.rhs = values.rhs;
    for (Value& place : at.lhs) {
      place = t.b.op(OpCode::iadd, {place, t.b.arg(ArgField::lhs_chunk_stride)}, {}, "place",
                     Role::address);
    }
    return values.carried;
  };
  return multiplier.finish(t, block_loop(t, t.blocks, first_state(t, multiplier), chunk).carried);
}

}  // namespace tw
