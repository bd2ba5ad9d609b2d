#include "lower/pack_sums.h"

#include "lower/pack_lanes.h"
#include "lower/pack_rhs.h"
#include "lower/splat.h"

namespace tw {
namespace {

bool is_depth(const Layout& layout) {
  return layout.order.pair == NibblePair::depth;
}
bool is_next(const Layout& layout) {
  return layout.order.pair == NibblePair::next;
}
bool is_bytes(const Layout& layout) {
  return layout.order.pair == NibblePair::none;
}
bool is_signed(const Layout& layout) {
  return !layout.order.low_unsigned && !layout.order.high_unsigned;
}

bool is_quarters(const Layout& layout) {
  return layout.element == ElementType::i2;
}

/// Two lanes a column can be added up.
bool folds(const Layout& layout, const Isa& isa) {
  return layout.order.kr == 4 || (layout.order.kr == 8 && isa.has(OpCode::pair_add, 32));
}

}  // namespace

/// By one instruction, or by two that add up in 16 and in 32 bits.
static bool multiplies_unsigned(const Isa& isa) {
  const bool in_steps = isa.has(OpCode::dot2_u8s8_sat) && isa.has(OpCode::dot2_s16);
  return isa.has(OpCode::dot4_u8s8) || in_steps;
}

bool CodeSums::possible(const Layout& layout, const Isa& isa) {
  const DataOrder& order = layout.order;
  if (!has_all(isa, {"load", "store", "and", "zero", "add.32", "sub.32", "sar.32", "dup.32"})) {
    return false;
  }
  if (is_quarters(layout)) {
    const bool adds = multiplies_unsigned(isa) || isa.has(OpCode::dot4_s8s8);
    return is_depth(layout) && order.kr == 4 && order.low_unsigned && order.high_unsigned && adds &&
           isa.has(OpCode::shr, 32);
  }
  if (is_bytes(layout)) {
    if (is_signed(layout)) return folds(layout, isa) && isa.has(OpCode::dot4_s8s8);
    return order.kr == 4 && multiplies_unsigned(isa);
  }
  if (is_depth(layout) && is_signed(layout)) {
    return folds(layout, isa) && isa.has(OpCode::shl, 8) && isa.has(OpCode::dot4_s8s8);
  }
  if (is_next(layout)) {
    return order.kr == 4 && is_signed(layout) && segments(isa) == 1 && isa.has(OpCode::shl, 8) &&
           isa.has(OpCode::dot4_s8s8) && isa.has(OpCode::zip_lo, 32) && isa.has(OpCode::zip_hi, 32);
  }
  if (!order.low_unsigned) return false;
  if (is_depth(layout)) return order.high_unsigned && multiplies_unsigned(isa);
  const bool zips = order.kr == 4 || (isa.has(OpCode::zip_lo, 64) && isa.has(OpCode::zip_hi, 64));
  return folds(layout, isa) && zips && !order.high_unsigned && segments(isa) == 1 &&
         (isa.has(OpCode::dot4_s8s8) || isa.has(OpCode::dot4_u8s8));
}

int CodeSums::factor(const Layout& layout) {
  return is_depth(layout) && is_signed(layout) ? 16 : 1;
}

SumWeights::SumWeights(Builder& b, const Layout& layout)
    : ones(splat32(b, 0x01010101U, "ones")),
      nibbles(is_signed(layout) ? splat32(b, 0xf0f0f0f0U, "high_nibbles")
                                : splat32(b, 0x0f0f0f0fU, "low_nibbles")) {
  if (!b.isa().has(OpCode::dot4_u8s8) && b.isa().has(OpCode::dot2_s16)) {
    ones16 = splat32(b, 0x00010001U, "ones_16");
  }
  if (is_quarters(layout)) quarters = splat32(b, 0x33333333U, "low_quarters");
  if (is_next(layout)) {
    even = splat32(b, 0x00000101U, "even");
    odd = splat32(b, 0x01010000U, "odd");
  }
}

std::optional<SumWeights> sum_weights(Builder& b, const Layout& layout) {
  return summed_field(layout) == nullptr ? std::nullopt : std::optional(SumWeights(b, layout));
}

CodeSums::CodeSums(Builder& b, const Layout& layout, const std::optional<SumWeights>& weights,
                   int64_t vectors)
    : b_(b), layout_(layout), weights_(weights), vectors_(static_cast<size_t>(vectors)) {}

size_t CodeSums::accumulators() const {
  if (!weights_) return 0;
  return vectors_ * (layout_.order.pair == NibblePair::column || is_next(layout_) ? 2 : 1);
}

std::vector<Value> CodeSums::start() const {
  std::vector<Value> zeros;
  for (size_t i = 0; i < accumulators(); ++i) {
    zeros.push_back(b_.op(OpCode::zero, {}, {}, "sum"));
  }
  return zeros;
}

Value CodeSums::dot(Value sum, Value codes, Value weights) const {
  if (b_.isa().has(OpCode::dot4_s8s8)) return b_.op(OpCode::dot4_s8s8, {sum, codes, weights});
  return b_.op(OpCode::dot4_u8s8, {sum, weights, codes});
}

/// Codes of two bits: nibbles that are sums of two, at most 6.
Value CodeSums::pairs_added(Value codes) const {
  const Value high = b_.op(OpCode::shr, {codes}, {.bits = 32, .imm = 2});
  const Value first = b_.op(OpCode::and_, {codes, weights_->quarters});
  return b_.op(OpCode::add, {first, b_.op(OpCode::and_, {high, weights_->quarters})}, {.bits = 32});
}

/// Codes are at most 255 and weights 15: 16 bits hold two products.
Value CodeSums::dot_unsigned(Value sum, Value codes, Value weights) const {
  if (is_quarters(layout_) && b_.isa().has(OpCode::dot4_s8s8)) return dot(sum, codes, weights);
  if (b_.isa().has(OpCode::dot4_u8s8)) return b_.op(OpCode::dot4_u8s8, {sum, codes, weights});
  const Value pairs = b_.op(OpCode::dot2_u8s8_sat, {codes, weights});
  const Value fours = b_.op(OpCode::dot2_s16, {pairs, weights_->ones16});
  return b_.op(OpCode::add, {sum, fours}, {.bits = 32});
}

void CodeSums::add(std::span<Value> carried, size_t vector, Value codes) const {
  if (!weights_) return;
  if (is_bytes(layout_)) {
    Value& sum = carried[vector];
    sum = is_signed(layout_) ? dot(sum, codes, weights_->ones)
                             : dot_unsigned(sum, codes, weights_->ones);
    return;
  }
  if (is_signed(layout_)) {
    // Both nibbles as high ones.
    const auto add_high = [&](Value nibbles) {
      if (!is_next(layout_)) {
        carried[vector] = dot(carried[vector], nibbles, weights_->ones);
        return;
      }
      carried[2 * vector] = dot(carried[2 * vector], nibbles, weights_->even);
      carried[2 * vector + 1] = dot(carried[2 * vector + 1], nibbles, weights_->odd);
    };
    add_high(b_.op(OpCode::shl, {codes}, {.bits = 8, .imm = 4}));
    add_high(b_.op(OpCode::and_, {codes, weights_->nibbles}));
    return;
  }
  if (is_quarters(layout_)) codes = pairs_added(codes);
  const Value low = b_.op(OpCode::and_, {codes, weights_->nibbles});
  if (is_depth(layout_)) {
    // (16 high + low) + 15 low: both nibbles 16 times, in one accumulator. The mask is 15s.
    const Value whole = dot_unsigned(carried[vector], codes, weights_->ones);
    carried[vector] = dot_unsigned(whole, low, weights_->nibbles);
    return;
  }
  carried[2 * vector] = dot(carried[2 * vector], codes, weights_->ones);
  carried[2 * vector + 1] = dot(carried[2 * vector + 1], low, weights_->ones);
}

void CodeSums::add_to(Value sums, int64_t offset, Value value) const {
  const Value old = b_.op(OpCode::load, {sums}, {.offset = offset});
  b_.op(OpCode::store, {sums, b_.op(OpCode::add, {old, value}, {.bits = 32})}, {.offset = offset});
}

std::vector<Value> CodeSums::next_totals(std::span<const Value> carried) const {
  const auto total = [&](Value sum) { return b_.op(OpCode::sar, {sum}, {.bits = 32, .imm = 4}); };
  std::vector<Value> totals;
  for (size_t v = 0; v < vectors_; ++v) {
    const Value even = total(carried[2 * v]), odd = total(carried[2 * v + 1]);
    const Pair columns = interleave(b_, 32, even, odd);
    totals.insert(totals.end(), {columns.low, columns.high});
  }
  return totals;
}

/// Unsigned nibbles are 8 too high, k times; bytes 128, codes of two bits 2.
Value CodeSums::offset(Value k) const {
  const int64_t offset_bits = is_bytes(layout_) ? 7 : is_quarters(layout_) ? 1 : 3;
  return b_.op(OpCode::dup, {b_.op(OpCode::ishl, {k}, {.imm = offset_bits})}, {.bits = 32},
               "offset");
}

Value CodeSums::total(std::span<const Value> carried, size_t first, Value offset) const {
  const Value sum = carried[first];
  if (is_signed(layout_)) {
    if (layout_.order.kr == 4) return sum;
    return b_.op(OpCode::pair_add, {sum, carried[first + 1]}, {.bits = 32});
  }
  const Value total = is_bytes(layout_) ? sum : b_.op(OpCode::sar, {sum}, {.bits = 32, .imm = 4});
  return b_.op(OpCode::sub, {total, offset}, {.bits = 32});
}

void CodeSums::finish(std::span<const Value> carried, Value k, Value sums) const {
  const Value correction = is_signed(layout_) ? no_value : offset(k);
  if (is_next(layout_) || layout_.order.pair == NibblePair::column) {
    const std::vector<Value> all = totals(carried, correction);
    for (size_t i = 0; i < all.size(); ++i) add_to(sums, static_cast<int64_t>(i) * 16, all[i]);
    return;
  }
  const int64_t bytes = b_.isa().vector_bytes.fixed;
  const size_t lanes = is_signed(layout_) && layout_.order.kr != 4 ? 2 : 1;  // of a column
  for (size_t v = 0; v < vectors_; v += lanes) {
    add_to(sums, static_cast<int64_t>(v / lanes) * bytes, total(carried, v, correction));
  }
}

std::vector<Value> CodeSums::column_totals(std::span<const Value> carried, Value offset) const {
  auto high_of = [&](Value whole, Value low) {
    const Value difference = b_.op(OpCode::sub, {whole, low}, {.bits = 32});
    return b_.op(OpCode::sar, {difference}, {.bits = 32, .imm = 4});
  };
  auto low_of = [&](Value low) { return b_.op(OpCode::sub, {low, offset}, {.bits = 32}); };
  std::vector<Value> totals;
  if (layout_.order.kr == 4) {  // every lane is a column
    for (size_t v = 0; v < vectors_; ++v) {
      totals.push_back(high_of(carried[2 * v], carried[2 * v + 1]));
      totals.push_back(low_of(carried[2 * v + 1]));
    }
    return totals;
  }
  // kr 8: two lanes a column. Two vectors at a time: [columns 0 1 | 4 5] high, [2 3 | 6 7] low.
  for (size_t v = 0; v < vectors_; v += 2) {
    const size_t w = v + 1 < vectors_ ? v + 1 : v;
    auto fold = [&](size_t part) {
      return b_.op(OpCode::pair_add, {carried[2 * v + part], carried[2 * w + part]}, {.bits = 32});
    };
    const Value whole = fold(0);
    const Value low = fold(1);
    const Value second = low_of(low);
    const Value first = high_of(whole, low);
    const Pair columns = interleave(b_, 64, first, second);
    totals.push_back(columns.low);
    if (w != v) totals.push_back(columns.high);
  }
  return totals;
}

std::vector<Value> CodeSums::totals(std::span<const Value> carried, Value offset) const {
  return is_next(layout_) ? next_totals(carried) : column_totals(carried, offset);
}

}  // namespace tw
