#include "lower/pack_tops.h"

#include <algorithm>
#include <bit>
#include <utility>

#include "lower/pack_rhs.h"
#include "lower/pack_strips.h"
#include "lower/splat.h"

namespace tw {
namespace {

constexpr int64_t run_bytes = 16;

std::optional<Relayout> tops_way(const Layout& layout, const Source& source, const Isa& isa) {
  return find_relayout(layout, source, isa, run_bytes, FieldKind::tops);
}

/// As many as a vector has lanes; more, if bytes hold bits of columns of several vectors.
int64_t columns_at_once(const Relayout& way, const Isa& isa) {
  return std::max(isa.lanes32(), way.tile.n + 1);
}

/// Bytes of a panel's plane that a vector of so many columns takes.
int64_t plane_bytes(const Layout& layout, int64_t columns) {
  return columns * layout.order.kr / top_order(layout).vectors;
}

constexpr int lane_bits = 32;

/// How far a bit is from the first one; -1: no power of two in a lane.
int bit_in_lane(int64_t distance) {
  const auto bits = static_cast<uint64_t>(distance);
  return std::has_single_bit(bits) && distance < lane_bits ? std::countr_zero(bits) : -1;
}

/// What brings tops of `k` values, which are one lane for each column, from a source's order into a
/// layout's, one after the other; none where they are not such lanes, or the ISA lacks moves.
std::optional<std::vector<BitSwap>> swaps_in_lanes(const Layout& layout, const Source& source,
                                                   const Isa& isa, int64_t k) {
  if (top_bits(layout) != 1 || k != lane_bits) return std::nullopt;
  if (!can_swap_bits(isa)) return std::nullopt;
  const Part panels = axes(layout);
  const auto packed = [&](Coordinates at) {
    return place(panels, FieldKind::tops, at, {k, {}, 0}) -
           place(panels, FieldKind::tops, {}, {k, {}, 0});
  };
  const auto given = [&](int64_t at) {
    return source_bit(source, FieldKind::tops, at) - source_bit(source, FieldKind::tops, 0);
  };
  for (int64_t n = 1; n < layout.panel.fixed; n *= 2) {
    if (packed({n, 0}) != lane_bits * n) return std::nullopt;
  }
  // Of each bit of k: which bit of a bit's number it is.
  std::vector<int> held, wanted;
  for (int64_t i = 1; i < k; i *= 2) {
    held.push_back(bit_in_lane(given(i)));
    wanted.push_back(bit_in_lane(packed({0, i})));
    if (held.back() < 0 || wanted.back() < 0) return std::nullopt;
  }
  std::vector<BitSwap> swaps;
  for (size_t i = 0; i < held.size(); ++i) {
    if (held[i] == wanted[i]) continue;
    swaps.push_back({std::min(held[i], wanted[i]), std::max(held[i], wanted[i])});
    const auto other = std::find(held.begin(), held.end(), wanted[i]);
    if (other == held.end()) return std::nullopt;
    *other = std::exchange(held[i], wanted[i]);
  }
  return swaps;
}

/// 2^(bits * number), of a number below `count`, a power of two.
Value power(Builder& b, Value number, int64_t bits, int64_t count) {
  Value product = b.constant(1);
  for (int64_t bit = 1; bit < count; bit *= 2) {
    const Value set = b.op(OpCode::iand_imm, {number}, {.imm = bit});
    const Value factor = choose(b, {set, b.constant(int64_t{1} << (bits * bit)), b.constant(1)});
    product = b.op(OpCode::imul, {product, factor}, {}, "power");
  }
  return product;
}

}  // namespace

bool can_move_tops(const Layout& layout, const Source& source, const Isa& isa, int64_t k) {
  if (top_bits(layout) == 0) return true;
  if (!layout.panel.is_fixed() && top_order(layout).vectors != 1) return false;
  const Layout strip = strip_of(layout);
  if (swaps_in_lanes(strip, source, isa, k)) return true;
  const auto way = tops_way(strip, source, isa);
  return way && strip.panel.fixed % columns_at_once(*way, isa) == 0 && way->tile.k < k;
}

TopsPacker::TopsPacker(Builder& b, const Layout& layout, const Source& source, int64_t k)
    : b_(b), panel_(layout), layout_(strip_of(layout)), source_(source), k_(k) {
  if (const auto swaps = swaps_in_lanes(layout_, source, b.isa(), k)) {
    swaps_ = *swaps;
    for (const BitSwap& swap : swaps_) {
      swap_masks_.push_back(splat32(b, moved_up(swap), "moved_up"));
    }
    return;
  }
  way_ = tops_way(layout_, source, b.isa()).value();
  masks_ = relayout_masks(b, *way_);
}

int64_t TopsPacker::scratch_bytes() const {
  return way_ ? 0 : lane_bits / 8 * most_rows(panel_);
}

/// Where those of each block are, of which the first one's are there; of a panel of fixed size all
/// are told by their distance.
std::vector<Value> TopsPacker::blocks_at(Value first) const {
  if (panel_.panel.is_fixed()) return {first};
  const Value bytes = length(b_, block_bytes(panel_), "block_bytes");
  return strided(b_, first, bytes, 0, k_ / layout_.block, "block");
}

Value TopsPacker::exchange(Value lanes) const {
  const auto apply = [&](const MoveOp& op, Value x, Value y) { return move(b_, op, x, y); };
  for (size_t i = 0; i < swaps_.size(); ++i) {
    lanes = swapped(apply, lanes, swaps_[i], swap_masks_[i]);
  }
  return lanes;
}

/// Lanes come one by one, from where rows are, and are vectors then.
void TopsPacker::pack_lanes(Value from, Value stride, Value to, bool stream) const {
  const Value columns = length(b_, panel_.panel);
  const int64_t bytes = lane_bits / 8;
  const Value first = b_.add(from, source_bit(source_, FieldKind::tops, 0) / 8, "tops_from");
  b_.loop("tops", columns, {first, lanes_}, [&](const std::vector<Value>& at) {
    const Value lane = b_.op(OpCode::load_scalar, {at[0]}, {.bits = lane_bits}, "tops");
    b_.op(OpCode::store_scalar, {at[1], lane}, {.bits = lane_bits});
    const Value next = b_.add(at[1], bytes, "lane");
    return std::vector<Value>{plus(b_, {at[0], stride}, "row"), next};
  });
  const bool past = stream && b_.isa().has(OpCode::store_stream);
  const Value vectors = over(b_, columns, b_.isa().lanes32(), "vectors");
  b_.loop("lanes", vectors, {lanes_, to}, [&](const std::vector<Value>& at) {
    const Value packed = exchange(b_.op(OpCode::load, {at[0]}, {}, "lanes"));
    b_.op(past ? OpCode::store_stream : OpCode::store, {at[1], packed});
    const Value next = b_.add(at[0], b_.isa().vector_bytes, "lanes");
    return std::vector<Value>{next, b_.add(at[1], b_.isa().vector_bytes, "to")};
  });
}

void TopsPacker::pack(Value from, Value stride, Value to, bool stream) const {
  const Length before = start(axes(panel_), FieldKind::tops, k_).divided(8);
  const Value first = behind(b_, to, before, "tops");
  if (!way_) {
    const bool aligned = before.is_fixed() && before.fixed % b_.isa().vector_bytes.fixed == 0;
    return pack_lanes(from, stride, first, stream && aligned);
  }
  const int64_t columns = columns_at_once(*way_, b_.isa());
  const Value count = panel_.panel.is_fixed() ? b_.constant(layout_.panel.fixed / columns)
                                              : over(b_, length(b_, panel_.panel), columns);
  b_.loop("tops", count, {from, first}, [&](const std::vector<Value>& at) {
    const std::vector<Value> rows = strided(b_, at[0], stride, 0, columns, "row");
    const auto find = [&](Coordinates of) {
      const int64_t bit = source_bit(source_, FieldKind::tops, of.k);
      return std::pair(rows[static_cast<size_t>(of.n)], bit / 8);
    };
    const std::vector<Value> blocks = blocks_at(at[1]);
    relayout(b_, *way_, masks_, {columns, k_}, find, [&](Coordinates of, Value packed) {
      const int64_t offset = packed_offset(layout_, of, FieldKind::tops);
      if (blocks.size() == 1) {
        b_.op(OpCode::store, {at[1], packed}, {.offset = offset});
        return;
      }
      const auto block = static_cast<size_t>(of.k / layout_.block);
      b_.op(OpCode::store, {blocks[block], packed},
            {.offset = offset % block_bytes(layout_).fixed});
    });
    return std::vector<Value>{b_.op(OpCode::iadd, {rows.back(), stride}, {}, "rows"),
                              b_.add(at[1], plane_bytes(layout_, columns), "to")};
  });
}

void put_tops(const Given& given, const Layout& layout, const Source& source, Value from, Value to,
              Value column, int64_t k) {
  Builder& b = given.b;
  const int64_t bits = top_bits(layout);
  const int64_t groups = top_order(layout).groups;
  const int64_t kr = layout.order.kr;
  const int64_t codes = 8 / bits;
  const FieldAxes in_source = path_below(path_of(source.axes, FieldKind::tops), k);
  FieldAxes in_panel = path_below(path_of(axes(layout), FieldKind::tops), k);
  Value among = no_value;  // what moves bits to the column's place in a byte
  for (const Axis& axis : in_panel.axes) {
    if (axis.dim != Dim::n || axis.stride.divisible(8)) continue;
    among = power(b, digit(given, axis, false, column), axis.stride.fixed, axis.extent.fixed);
  }
  const Value behind = place(given, in_panel, Dim::n, column).bytes;
  if (behind != no_value) to = plus(b, {to, behind}, "column");
  // Groups of a byte are told apart here.
  std::erase_if(in_panel.axes, [](const Axis& axis) { return !axis.stride.divisible(8); });
  b.loop("top", b.constant(k / groups), {tw::number(b, 0, "byte_number")},
         [&](const std::vector<Value>& now) {
           const Value whole = times(b, over(b, now[0], kr), kr * groups);
           const Value first = plus(b, {whole, remainder(given, now[0], kr)}, "k");
           Value byte = no_value;
           for (int64_t i = 0; i < groups; ++i) {
             const Reach at = place(given, in_source, Dim::k, b.add(first, i * kr, "k"));
             const Value address = at.bytes == no_value ? from : plus(b, {from, at.bytes});
             const Value given_byte = b.op(OpCode::load_scalar, {address}, {.bits = 8}, "tops");
             // Moved up to where the highest one is, and down.
             const Value below = b.op(OpCode::isub, {b.constant(codes - 1), at.code});
             const Value up = product(b, {given_byte, power(b, below, bits, codes)});
             const Value down = b.op(OpCode::ishr, {up}, {.imm = bits * (codes - 1)});
             const Value top =
                 b.op(OpCode::iand_imm, {down}, {.imm = (int64_t{1} << bits) - 1}, "top");
             const Value moved = i == 0 ? top : b.op(OpCode::ishl, {top}, {.imm = bits * i});
             byte = byte == no_value ? moved : plus(b, {byte, moved}, "byte");
           }
           const Reach at = place(given, in_panel, Dim::k, first);
           const Value address = at.bytes == no_value ? to : plus(b, {to, at.bytes});
           if (among != no_value) {
             const Value old = b.op(OpCode::load_scalar, {address}, {.bits = 8}, "old");
             byte = plus(b, {old, product(b, {byte, among})}, "byte");
           }
           b.op(OpCode::store_scalar, {address, byte}, {.bits = 8});
           return std::vector<Value>{b.add(now[0], 1, "byte_number")};
         });
}

}  // namespace tw
