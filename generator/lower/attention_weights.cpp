#include "lower/attention_weights.h"

#include <bit>
#include <cfloat>

#include "lower/across.h"
#include "lower/exponential.h"
#include "lower/tile.h"
#include "lower/widen.h"
#include "model/attention.h"

namespace tw {
namespace {

using Values = std::vector<Value>;

/// tw_args.flags: what the mask holds, and whether scores have a softcap.
constexpr int64_t masks = 3;
constexpr int64_t no_mask = 0;
constexpr int64_t mask_of_f16 = 1;
constexpr int64_t has_softcap = 4;

/// What stands beside positions, vectors of each in turn for as many positions as there are lanes.
enum PositionVector { key_scale, key_zero, value_scale, value_zero, position_vectors };

class WeightsWriter {
 public:
  WeightsWriter(Builder& b, const Variant& v)
      : b_(b),
        lanes_(v.tile.n.fixed),
        has_scales_(has_scales_of_positions(*v.family.rhs)),
        vector_(v.isa->vector_bytes),
        power_(b) {}

  void write() {
    const Values rows = {b_.arg(ArgField::dst), b_.arg(ArgField::lhs)};
    b_.loop("row", b_.arg(ArgField::m), rows, [&](const Values& p) {
      const Value state = p[0];
      const Value scores = b_.add(state, vector_ * state_vectors, "scores");
      if (has_scales_) scale_scores(scores, state);
      cap_scores(scores);
      mask_row(scores, p[1], state);
      weigh_row(scores, state);
      if (has_scales_) scale_weights(scores, state);
      return Values{offset(state, b_.arg(ArgField::dst_stride), "row"),
                    offset(p[1], b_.arg(ArgField::lhs_stride), "mask")};
    });
  }

 private:
  Value offset(Value pointer, Value bytes, const std::string& name) {
    return b_.op(OpCode::iadd, {pointer, bytes}, {}, name, Role::address);
  }
  Value op(OpCode code, std::initializer_list<Value> args, const std::string& name) {
    return b_.op(code, args, {}, name, Role::operand);
  }
  Value load(Value at, int64_t vector, const std::string& name) {
    return b_.op(OpCode::load, {at}, {.offset = vector_ * vector}, name, Role::operand);
  }
  void store(Value at, Value x, int64_t vector = 0) {
    b_.op(OpCode::store, {at, x}, {.offset = vector_ * vector});
  }
  Value zero() { return b_.op(OpCode::zero, {}, {}, "acc", Role::accumulator); }
  Value constant(float x, const std::string& name) {
    return splat32(b_, std::bit_cast<uint32_t>(x), name, Role::operand);
  }
  /// Of tw_args' limits, in all lanes.
  Value limit(int64_t at, const std::string& name) {
    return b_.op(OpCode::load_dup, {b_.arg(ArgField::clamp)}, {.bits = 32, .offset = at}, name,
                 Role::operand);
  }

  /// (score - zero * sum of q) * scale
  void scale_scores(Value row, Value state) {
    const Value minus_q = load(state, minus_q_at, "minus_q");
    b_.stepped_loop(
        "scaled", b_.arg(ArgField::n), lanes_, {row, b_.arg(ArgField::rhs)}, [&](const Values& p) {
          const Value zero = load(p[1], key_zero, "zero");
          const Value sum = multiply_add(b_, zero, minus_q, load(p[0], 0, "s"), "s", Role::operand);
          const Value scale = load(p[1], key_scale, "scale");
          store(p[0], op(OpCode::fmul, {sum, scale}, "s"));
          return Values{b_.add(p[0], vector_), next_positions(p[1])};
        });
  }

  Value next_positions(Value at) { return b_.add(at, vector_ * position_vectors, "positions"); }

  void cap_scores(Value row) {
    const Value flags = b_.arg(ArgField::flags);
    const Value capped = b_.op(OpCode::iand_imm, {flags}, {.imm = has_softcap}, "capped");
    b_.branch(capped, Compare::not_equal, b_.constant(0), [&] {
      b_.stepped_loop("capped", b_.arg(ArgField::n), lanes_, {row}, [&](const Values& p) {
        store(p[0], capped_score(load(p[0], 0, "s")));
        return Values{b_.add(p[0], vector_)};
      });
    });
  }

  /// The limit times tanh(x), which is (1 - e^-2|x|) / (1 + e^-2|x|) with the sign of x. -infinity,
  /// of positions that are none, stays so. Constants are made where they are used: with those of
  /// the exponential they are too many to keep.
  Value capped_score(Value x) {
    constexpr uint32_t sign_bit = 0x80000000;
    const auto sign = [&] { return splat32(b_, sign_bit, "sign", Role::operand); };
    const Value below = op(OpCode::or_, {x, sign()}, "below");
    const Value power = power_(op(OpCode::fadd, {below, below}, "below"));
    const Value one = constant(1, "one");
    const Value less = op(OpCode::fsub, {one, power}, "less");
    const Value more = op(OpCode::fadd, {one, power}, "more");
    const Value size = op(OpCode::fdiv, {less, more}, "size");
    const Value its_sign = op(OpCode::and_, {x, sign()}, "sign");
    const Value tanh = op(OpCode::or_, {size, its_sign}, "tanh");
    const Value capped = op(OpCode::fmul, {tanh, limit(4, "softcap")}, "capped");
    // Of what is finite that is far above; and a NaN is the minimum.
    const Value far_above = op(OpCode::fadd, {x, constant(FLT_MAX, "far")}, "far");
    return op(OpCode::fmin, {capped, far_above}, "capped");
  }

  /// Adds the mask to the scores, and leaves their largest by lane where the correction will be:
  /// no value leaves a branch.
  void mask_row(Value row, Value mask, Value state) {
    const Value flags = b_.arg(ArgField::flags);
    const Value type_of_mask = b_.op(OpCode::iand_imm, {flags}, {.imm = masks}, "mask_type");
    const auto masked = [&](ElementType type) { mask_scores(row, mask, state, type); };
    b_.branch(
        type_of_mask, Compare::equal, b_.constant(no_mask), [&] { largest_score(row, state); },
        [&] {
          b_.branch(
              type_of_mask, Compare::equal, b_.constant(mask_of_f16),
              [&] { masked(ElementType::f16); }, [&] { masked(ElementType::f32); });
        });
  }

  void mask_scores(Value row, Value mask, Value state, ElementType type) {
    const Value slope = limit(0, "slope");
    const Values all = {row, mask, load(state, largest_at, "most")};
    const auto body = [&](const Values& p) {
      const Value by = load_widened(b_, p[1], 0, type, "mask");
      const Value score = multiply_add(b_, by, slope, load(p[0], 0, "s"), "s", Role::operand);
      store(p[0], score);
      // A NaN is left out here: its weight will be one.
      return Values{b_.add(p[0], vector_), b_.add(p[1], lanes_bytes(b_.isa(), type)),
                    b_.op(OpCode::fmax, {score, p[2]}, {}, "most", Role::accumulator)};
    };
    const Values done = b_.stepped_loop("masked", b_.arg(ArgField::n), lanes_, all, body);
    store(state, done[2], correction_at);
  }

  void largest_score(Value row, Value state) {
    const auto body = [&](const Values& p) {
      return Values{b_.add(p[0], vector_),
                    b_.op(OpCode::fmax, {load(p[0], 0, "s"), p[1]}, {}, "most", Role::accumulator)};
    };
    const Values all = {row, load(state, largest_at, "most")};
    const Values done = b_.stepped_loop("scores", b_.arg(ArgField::n), lanes_, all, body);
    store(state, done[1], correction_at);
  }

  void weigh_row(Value row, Value state) {
    const Value by_lane = load(state, correction_at, "most");
    const Value most = across(b_, {by_lane}, OpCode::fmax).front();
    const Value before = load(state, largest_at, "before");
    const Value correction = power_(op(OpCode::fsub, {before, most}, "less"));
    store(state, most, largest_at);
    store(state, correction, correction_at);
    const int shift = std::countr_zero(static_cast<uint64_t>(lanes_));
    const Value count =
        b_.op(OpCode::ishr, {b_.add(b_.arg(ArgField::n), lanes_ - 1)}, {.imm = shift});
    const auto body = [&](const Values& p) {
      const Value weight = power_(op(OpCode::fsub, {load(p[0], 0, "s"), most}, "x"));
      store(p[0], weight);
      return Values{b_.add(p[0], vector_),
                    b_.op(OpCode::fadd, {p[1], weight}, {}, "sum", Role::accumulator)};
    };
    const Values done = b_.hot_loop("weights", count, {row, zero()}, lanes_, body);
    add_to_state(state, sum_at, done[1]);
  }

  /// weight * scale, and the sum of those times zeros: what sums of products are too large by.
  void scale_weights(Value row, Value state) {
    const auto body = [&](const Values& p) {
      const Value scale = load(p[1], value_scale, "scale");
      const Value weight = op(OpCode::fmul, {load(p[0], 0, "w"), scale}, "w");
      store(p[0], weight);
      const Value its_zero = load(p[1], value_zero, "zero");
      return Values{b_.add(p[0], vector_), next_positions(p[1]),
                    multiply_add(b_, weight, its_zero, p[2], "surplus", Role::accumulator)};
    };
    const Values all = {row, b_.arg(ArgField::rhs), zero()};
    const Values done = b_.stepped_loop("scaled", b_.arg(ArgField::n), lanes_, all, body);
    add_to_state(state, surplus_at, done[2]);
  }

  /// What earlier blocks summed up, corrected, and what this one did.
  void add_to_state(Value state, int64_t vector, Value sum) {
    const Value earlier = load(state, vector, "sum");
    const Value kept = load(state, correction_at, "correction");
    store(state, multiply_add(b_, earlier, kept, sum, "sum", Role::operand), vector);
  }

  Builder& b_;
  int64_t lanes_;  ///< positions of a vector
  bool has_scales_;
  Length vector_;  ///< its bytes
  Exponential power_;
};

}  // namespace

void lower_attention_weights(Builder& b, const Variant& v) {
  WeightsWriter(b, v).write();
}

}  // namespace tw
