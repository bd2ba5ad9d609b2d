// LHS blocks of f32: their largest magnitudes, and their codes. A packer has them done for many
// blocks of a row at a time, with one value a block that is the same in all lanes: so nothing is
// added up lane by lane outside.
#include <bit>
#include <functional>

#include "lower/pack_lanes.h"
#include "lower/pack_lhs.h"
#include "lower/pack_rhs.h"
#include "lower/splat.h"

namespace tw {
namespace {

using Combine = std::function<Value(Value, Value)>;

/// All of `values` combined, lane by lane.
Value combined(std::vector<Value> values, const Combine& combine) {
  while (values.size() > 1) {
    std::vector<Value> half;
    for (size_t i = 0; i + 1 < values.size(); i += 2) {
      half.push_back(combine(values[i], values[i + 1]));
    }
    if (values.size() % 2 == 1) half.push_back(values.back());
    values = half;
  }
  return values[0];
}

bool can_swap_segments(const Isa& isa) {
  if (segments(isa) == 2) return isa.has(OpCode::permute_64);
  return segments(isa) == 1 || (segments(isa) == 4 && isa.has(OpCode::move_segments));
}

/// All 32-bit lanes of x combined, in every lane.
Value across(Builder& b, Value x, const Combine& combine) {
  // Segments and their neighbours: of the other half of x, then of their own.
  if (segments(b.isa()) == 4) {
    for (const int64_t places : {0x4e, 0xb1}) {
      x = combine(x, b.op(OpCode::move_segments, {x, x}, {.imm = places}));
    }
  } else if (segments(b.isa()) == 2) {
    x = combine(x, b.op(OpCode::permute_64, {x}, {.imm = 0x4e}));
  }
  const Pair halves = zip(b, 64, x, x);
  const Value half = combine(halves.low, halves.high);
  const Value pairs = b.op(OpCode::zip_lo, {half, half}, {.bits = 32});
  const Pair lanes = zip(b, 64, pairs, pairs);
  return combine(lanes.low, lanes.high);
}

/// Values that one step takes.
int64_t step_floats(BlockLength length) {
  return length == BlockLength::step ? block_step : 2 * block_step;
}

/// A block's values, a step of them at a time: what `step` makes of the pointers and of what came
/// before is carried on.
using Step = std::function<std::vector<Value>(const std::vector<Value>&)>;
std::vector<Value> whole_block(Builder& b, BlockLength length, std::vector<Value> inits,
                               const Step& step) {
  if (length == BlockLength::step) return step(inits);
  inits.push_back(b.op(OpCode::zero));
  const int shift = std::countr_zero(static_cast<unsigned>(step_floats(length)));
  const Value steps = b.op(OpCode::ishr, {b.arg(ArgField::block)}, {.imm = shift}, "steps");
  return b.loop("k", steps, inits, step);
}

}  // namespace

bool can_quantize_blocks(const Isa& isa, Rounding rounding) {
  const int64_t step = lhs_step(isa, rounding, block_step);
  return step != 0 && block_step % step == 0 && can_swap_segments(isa) &&
         has_all(isa, {"and", "zip_lo.32", "zip_lo.64", "zip_hi.64"});
}

Program lower_block_ranges(const Isa& isa, const std::string& name, BlockLength length) {
  Builder b(name, isa);
  const int64_t vectors = step_floats(length) / isa.lanes32();
  const Value magnitude = splat32(b, 0x7fffffffU, "magnitude");
  const Value infinity = splat32(b, 0x7f800000U, "infinity");
  const Combine larger = [&](Value x, Value y) { return b.op(OpCode::fmax, {x, y}); };
  const Step step = [&](const std::vector<Value>& now) {
    std::vector<Value> magnitudes;
    for (const Value x : load_floats(b, now[0], vectors)) {
      const Value positive = b.op(OpCode::and_, {x, magnitude});
      magnitudes.push_back(b.op(OpCode::fmin, {positive, infinity}));  // of a NaN: infinity
    }
    if (now.size() > 1) magnitudes.push_back(now[1]);
    return std::vector<Value>{b.add(now[0], isa.vector_bytes * vectors, "x"),
                              combined(magnitudes, larger)};
  };
  b.loop("blocks", b.arg(ArgField::n), {b.arg(ArgField::lhs), b.arg(ArgField::dst)},
         [&](const std::vector<Value>& now) {
           const std::vector<Value> done = whole_block(b, length, {now[0]}, step);
           b.op(OpCode::store, {now[1], across(b, done[1], larger)});
           return std::vector<Value>{done[0], b.add(now[1], 4, "largest")};
         });
  return b.finish();
}

Program lower_quantize_blocks(const Isa& isa, const std::string& name, Rounding rounding,
                              BlockLength length) {
  Builder b(name, isa);
  const Combine plus = [&](Value x, Value y) { return b.op(OpCode::add, {x, y}, {.bits = 32}); };
  const Value sums = b.op(OpCode::iadd, {b.arg(ArgField::dst), b.arg(ArgField::dst_stride)});
  b.loop("blocks", b.arg(ArgField::n),
         {b.arg(ArgField::lhs), b.arg(ArgField::dst), b.arg(ArgField::lookup), sums},
         [&](const std::vector<Value>& now) {
           const Quantizer quantizer(b, now[2], rounding);
           const auto done =
               whole_block(b, length, {now[0], now[1]}, [&](const std::vector<Value>& at) {
                 std::vector<Value> codes;
                 for (const Value x : load_floats(b, at[0], step_floats(length) / isa.lanes32())) {
                   codes.push_back(quantizer.code(x));
                 }
                 store_codes(b, at[1], codes);
                 if (at.size() > 2) codes.push_back(at[2]);
                 return std::vector<Value>{b.add(at[0], 4 * step_floats(length), "x"),
                                           b.add(at[1], step_floats(length), "codes"),
                                           combined(codes, plus)};
               });
           b.op(OpCode::store, {now[3], across(b, done[2], plus)});
           constexpr int64_t parameters = 4 * static_cast<int64_t>(QuantizeParameter::count);
           return std::vector<Value>{done[0], done[1], b.add(now[2], parameters, "parameters"),
                                     b.add(now[3], 4, "sums")};
         });
  return b.finish();
}

}  // namespace tw
