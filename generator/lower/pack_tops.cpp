#include "lower/pack_tops.h"

#include <utility>

#include "lower/pack_rhs.h"
#include "lower/pack_strips.h"

namespace tw {
namespace {

constexpr int64_t run_bytes = 16;

std::optional<Relayout> tops_way(const Layout& layout, const Source& source, const Isa& isa) {
  return find_relayout(layout, source, isa, run_bytes, FieldKind::tops);
}

/// Bytes of a panel's plane that a vector of so many columns takes.
int64_t plane_bytes(const Layout& layout, int64_t columns) {
  return columns * layout.order.kr / top_order(layout).vectors;
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
  const auto way = tops_way(strip_of(layout), source, isa);
  return way && isa.lanes32() % (way->tile.n + 1) == 0 && way->tile.k < k;
}

TopsPacker::TopsPacker(Builder& b, const Layout& layout, const Source& source)
    : b_(b),
      panel_(layout),
      layout_(strip_of(layout)),
      source_(source.axes),
      way_(tops_way(layout_, source, b.isa()).value()),
      masks_(relayout_masks(b, way_)) {}

/// Where those of each block are, of which the first one's are there; of a panel of fixed size all
/// are told by their distance.
std::vector<Value> TopsPacker::blocks_at(Value first, int64_t k) const {
  if (panel_.panel.is_fixed()) return {first};
  const Value bytes = length(b_, block_bytes(panel_), "block_bytes");
  return strided(b_, first, bytes, 0, k / layout_.block, "block");
}

void TopsPacker::pack(Value from, Value stride, Value to, int64_t k) const {
  const int64_t lanes = b_.isa().lanes32();
  const Length before = start(axes(panel_), FieldKind::tops, k).divided(8);
  const Value first = behind(b_, to, before, "tops");
  const Value count = panel_.panel.is_fixed() ? b_.constant(layout_.panel.fixed / lanes)
                                              : over(b_, length(b_, panel_.panel), lanes);
  b_.loop("tops", count, {from, first}, [&](const std::vector<Value>& at) {
    std::vector<Value> rows = {at[0]};
    for (int64_t r = 1; r < lanes; ++r) {
      rows.push_back(b_.op(OpCode::iadd, {rows.back(), stride}, {}, "row"));
    }
    const auto find = [&](Coordinates of) {
      const int64_t bit = place(source_, FieldKind::tops, {0, of.k, 0}, {k, {}, 0});
      return std::pair(rows[static_cast<size_t>(of.n)], bit / 8);
    };
    const std::vector<Value> blocks = blocks_at(at[1], k);
    relayout(b_, way_, masks_, {lanes, k}, find, [&](Coordinates of, Value packed) {
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
                              b_.add(at[1], plane_bytes(layout_, lanes), "to")};
  });
}

void put_tops(const Given& given, const Layout& layout, const Source& source, Value from, Value to,
              Value column, int64_t k) {
  Builder& b = given.b;
  const int64_t bits = top_bits(layout);
  const int64_t groups = top_order(layout).groups;
  const int64_t kr = layout.order.kr;
  const int64_t codes = 8 / bits;
  const Path in_source = path_below(path_of(source.axes, FieldKind::tops), k);
  Path in_panel = path_below(path_of(axes(layout), FieldKind::tops), k);
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
