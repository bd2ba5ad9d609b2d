// Layouts follow from what the ISA multiplies: signed or unsigned operands, and how deep; or from
// what KleidiAI's packers write.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <stdexcept>

#include "model/variant.h"

namespace tw {
namespace {

/// What a multiply-accumulate instruction wants of its operands.
struct Appetite {
  OpCode code;
  std::vector<int> kr;  ///< legal depths, the preferred one first
  Length lhs_rows;      ///< rows that one LHS operand holds
  Length rhs_columns;   ///< columns that one packed RHS vector holds (both nibbles)
  NibblePair pair;
  bool low_unsigned, high_unsigned;
  ElementType lhs_kept = ElementType::i8;  ///< what the lhs codes are kept as
};

/// KleidiAI's int4: both nibbles signed, 16 values of k apart. As high nibbles, the low ones after
/// a shift, they multiply 16 times too much, which its sums and scales allow for.
constexpr int kleidiai_distance = 16;
constexpr int kleidiai_factor = 16;

/// The shortest block, and what longer ones are multiples of.
constexpr int shortest_block = 32;
constexpr int longest_block = 256;
constexpr int block_distance = shortest_block / 2;

Appetite kleidiai_appetite(Technique technique, const Isa& isa) {
  const Length columns = isa.vector_bytes.divided(4);
  if (isa.has(OpCode::shl, 8)) {
    if (technique == Technique::dot && isa.has(OpCode::dot4_s8s8)) {
      return {OpCode::dot4_s8s8, {4, 8}, 1, columns, NibblePair::depth, false, false};
    }
    if (technique == Technique::mmla && isa.has(OpCode::mmla_s8s8)) {
      return {OpCode::mmla_s8s8, {8}, 2, columns, NibblePair::depth, false, false};
    }
  }
  throw std::invalid_argument(
      fmt::format("layout kleidiai is not possible with technique {} on {}: that needs products of "
                  "signed bytes, and shifts of bytes",
                  name(technique), isa.name));
}

[[noreturn]] void refuse(Technique technique, const Isa& isa) {
  throw std::invalid_argument(
      fmt::format("technique {} is not possible on {}: it has no instruction for it",
                  name(technique), isa.name));
}

/// Depth that 8-bit products of signed operands have, the preferred one first.
std::vector<int> signed_depths(const Isa& isa) {
  if (isa.has(OpCode::dot4_s8s8_lane)) return {4, 8};
  return {8, 4};
}

/// Weights of 4 bits. `channel`: one scale a column, so sums may stay in accumulator tiles.
Appetite nibble_appetite(Technique technique, const Isa& isa, int kr, bool channel) {
  const Length vector = isa.vector_bytes;
  if (technique == Technique::dot) {
    // The operands of outer products, for a row of the output by itself.
    if (channel && isa.has(OpCode::tile_dot4_s8s8_lane) && isa.has(OpCode::nibbles)) {
      const Length columns = (vector * 2).divided(4);
      const NibblePair next = NibblePair::next;
      return {OpCode::tile_dot4_s8s8_lane, {4}, 1, columns, next, false, false};
    }
    // An unsigned operand takes offset nibbles as they are: low k, high k + 4, one register each.
    if (isa.has(OpCode::dot4_u8s8)) {
      return {OpCode::dot4_u8s8, {4}, 1, vector.divided(4), NibblePair::depth, true, true};
    }
    // Without a dot product: the same operands, summed in 16 bits first.
    if (isa.has(OpCode::dot2_u8s8_sat) && isa.has(OpCode::dot2_s16)) {
      return {OpCode::dot2_u8s8_sat, {4}, 1, vector.divided(4), NibblePair::depth, true, true};
    }
    // A signed one takes the raw byte: 16 * (signed high nibble) + (low nibble + 8).
    if (isa.has(OpCode::dot4_s8s8)) {
      const std::vector<int> depths = signed_depths(isa);
      const int depth = kr != 0 ? kr : depths.front();
      return {OpCode::dot4_s8s8,  depths, 1,    (vector * 2).divided(depth),
              NibblePair::column, true,   false};
    }
  }
  if (technique == Technique::mmla && isa.has(OpCode::mmla_s8s8)) {
    return {OpCode::mmla_s8s8, {8}, 2, (vector * 2).divided(8), NibblePair::column, true, false};
  }
  if (technique == Technique::outer && isa.has(OpCode::outer_s8s8)) {
    // With a table of signed nibbles no byte need be multiplied raw.
    const bool table = isa.has(OpCode::nibbles);
    const NibblePair pair = table ? NibblePair::next : NibblePair::column;
    const Length columns = (vector * 2).divided(4);
    return {OpCode::outer_s8s8, {4}, vector.divided(4), columns, pair, !table, false};
  }
  refuse(technique, isa);
}

/// Weights of 8 bits.
Appetite byte_appetite(Technique technique, const Isa& isa) {
  const Length columns = isa.vector_bytes.divided(4);
  const NibblePair none = NibblePair::none;
  if (technique == Technique::dot) {
    if (isa.has(OpCode::dot4_u8s8)) return {OpCode::dot4_u8s8, {4}, 1, columns, none, true, false};
    if (isa.has(OpCode::dot4_s8s8)) {
      return {OpCode::dot4_s8s8, signed_depths(isa), 1, columns, none, false, false};
    }
    // Products of 16 bits: a mask and a shift widen unsigned bytes, two of four each.
    if (isa.has(OpCode::dot2_s16)) {
      return {OpCode::dot2_s16, {4}, 1, columns, none, true, false, ElementType::i16};
    }
  }
  if (technique == Technique::mmla && isa.has(OpCode::mmla_s8s8)) {
    return {OpCode::mmla_s8s8, {8}, 2, columns, none, false, false};
  }
  refuse(technique, isa);
}

/// Weights in floats.
Appetite float_appetite(const Format& rhs, Technique technique, const Isa& isa) {
  const Length lanes = isa.vector_bytes.divided(4);
  if (technique == Technique::outer && isa.has(OpCode::outer_f32) && bits(rhs.element) == 32) {
    return {OpCode::outer_f32, {1}, lanes, lanes * 2, NibblePair::none, false, false};
  }
  if (technique != Technique::fma || !isa.has(OpCode::fma)) refuse(technique, isa);
  return {OpCode::fma, {1}, 1, lanes, NibblePair::none, false, false};
}

Appetite appetite(const Format& rhs, Technique technique, const Isa& isa, int kr) {
  if (is_float(rhs)) return float_appetite(rhs, technique, isa);
  return rhs.element == ElementType::i4
             ? nibble_appetite(technique, isa, kr, rhs.scales != Granularity::block)
             : byte_appetite(technique, isa);
}

void check_kr(const Appetite& wants, const Isa& isa, int kr) {
  std::string legal;
  for (const int option : wants.kr) {
    if (option == kr) return;
    legal += (legal.empty() ? "" : " or ") + std::to_string(option);
  }
  throw std::invalid_argument(fmt::format("kr {} does not fit {} on {}, which eats kr {}", kr,
                                          info(wants.code).name, isa.name, legal));
}

void check_panels(const Appetite& wants, const Isa& isa, const Panels& panels) {
  if (ratio(panels.lhs, wants.lhs_rows) < 1) {
    throw std::invalid_argument(fmt::format(
        "lhs panel {} does not fit {} on {}: panels of whole operands of {} rows",
        to_string(panels.lhs), info(wants.code).name, isa.name, to_string(wants.lhs_rows)));
  }
  if (ratio(panels.rhs, wants.rhs_columns) < 1) {
    throw std::invalid_argument(fmt::format(
        "rhs panel {} does not fit {} on {}: panels of whole vectors, multiples of {} columns",
        to_string(panels.rhs), info(wants.code).name, isa.name, to_string(wants.rhs_columns)));
  }
}

/// Floats need nothing beside them but the bias; k ends where it ends. An lhs in panels of one row
/// is as its user keeps it.
Layout float_layout(Side side, const Format& format, Length panel) {
  Layout layout;
  layout.side = side;
  layout.element = format.element;
  layout.panel = panel;
  layout.order.kr = 1;
  layout.k_multiple = 1;
  layout.fields = {{FieldKind::data, format.element, 1, 1, true}};
  if (side == Side::rhs) layout.fields.push_back({FieldKind::bias, ElementType::f32, 1, 1, false});
  return layout;
}

/// What accumulators start from. Codes are multiplied by (code + 8) for unsigned nibbles, (code +
/// 128) for unsigned bytes; -8 * sum takes that back. It is stored as often as an accumulator wants
/// it: twice for a 2x2 accumulator, in halves where two lanes add up to one output.
Field start_field(const Isa& isa, const Appetite& wants, const Panels& panels, int block) {
  const bool two_lanes = wants.code == OpCode::dot4_s8s8 && panels.kr == 8;
  const bool pairs = wants.code == OpCode::mmla_s8s8;
  const int offset = wants.pair == NibblePair::none ? 128 : 8;
  Field sums{FieldKind::sums, ElementType::i32, two_lanes ? -offset / 2 : -offset, pairs ? 2 : 1,
             true};
  if (block == 0 || wants.pair != NibblePair::column || isa.vector_bytes != Length{16}) return sums;
  // Once a block is often: vectors, four at least, which one instruction may load.
  if (!pairs) sums.repeat = std::max(4, 16 / static_cast<int>(panels.lhs.fixed));
  // A raw byte times an activation is at most 2^14: sums of up to 128 of them are floats at once.
  if (block <= 128) sums.base = two_lanes ? float_base / 2 : float_base;
  return sums;
}

/// `block`: of the weights, whose sums over a block are taken one by one.
Layout lhs_layout(const Format& format, const Isa& isa, const Appetite& wants, const Panels& panels,
                  int block) {
  Layout layout;
  layout.side = Side::lhs;
  layout.element = wants.lhs_kept;
  layout.panel = panels.lhs;
  layout.order.kr = panels.kr;
  layout.order.even_first = wants.lhs_kept == ElementType::i16;
  layout.block = block;
  const Field data{FieldKind::data, wants.lhs_kept, 1, 1, true};
  const Field sums = start_field(isa, wants, panels, block);
  layout.fields = {data};
  // In the order in which a kernel reads them, where it reads vectors.
  if (wants.low_unsigned) {
    layout.fields.insert(
        sums.base != 0 || sums.repeat >= 4 ? layout.fields.begin() : layout.fields.end(), sums);
  }
  if (format.has_zero_point) {
    layout.fields.push_back({FieldKind::zero_points, ElementType::i32, 1, 1, false});
  }
  const bool by_blocks = format.scales == Granularity::block;
  const bool pairs = wants.code == OpCode::mmla_s8s8;
  const int repeat = !by_blocks ? 1 : pairs ? 2 : sums.repeat >= 4 ? 4 : 1;
  layout.fields.push_back({FieldKind::scales, ElementType::f32, 1, repeat, by_blocks});
  // Codes alone are the same with blocks and without, of any length.
  if (!by_blocks && !wants.low_unsigned) layout.block = 0;
  return layout;
}

Layout rhs_layout(const Format& format, const Appetite& wants, const Panels& panels, int block) {
  Layout layout;
  layout.side = Side::rhs;
  layout.element = format.element;
  layout.panel = panels.rhs;
  layout.order = {panels.kr, wants.pair, wants.low_unsigned, wants.high_unsigned, panels.kr};
  layout.block = block;
  const Field data{FieldKind::data, format.element, 1, 1, true};
  const Field bias{FieldKind::bias, ElementType::f32, 1, 1, false};
  if (format.scales == Granularity::block) {
    // Nibbles as far apart as in ggml's blocks: packing those moves whole groups of kr bytes.
    if (wants.pair == NibblePair::depth) layout.order.distance = block_distance;
    // The sums serve an lhs with zero points; they are few enough to have one layout for all.
    // Scales stand behind the codes: few columns' would move those off multiples of a vector.
    layout.fields = {data,
                     {FieldKind::scales, panels.scales, 1, 1, true},
                     {FieldKind::sums, ElementType::f32, 1, 1, false},
                     bias};
  } else {
    layout.fields = {data,
                     {FieldKind::sums, ElementType::i32, 1, 1, false},
                     {FieldKind::scales, ElementType::f32, 1, 1, false},
                     bias};
  }
  return layout;
}

/// The same panels and formats, as KleidiAI packs them.
LayoutPair kleidiai_layouts(const Format& lhs, const Format& rhs, const Panels& panels) {
  if (lhs.name != "qai8dx" || rhs.name != "qsi4cx") {
    throw std::invalid_argument(
        fmt::format("layout kleidiai is not known for {} with {}: only for qai8dx with qsi4cx",
                    lhs.name, rhs.name));
  }
  Layout left;
  left.side = Side::lhs;
  left.element = lhs.element;
  left.panel = panels.lhs;
  left.order.kr = panels.kr;
  left.edge = Edge::last;
  left.rounding = Rounding::away;
  left.fields = {{FieldKind::data, ElementType::i8, 1, 1, true},
                 {FieldKind::zero_points, ElementType::i32, 1, 1, false},
                 {FieldKind::scales, ElementType::f32, 1, 1, false}};
  Layout right;
  right.side = Side::rhs;
  right.element = rhs.element;
  right.panel = panels.rhs;
  right.order = {panels.kr, NibblePair::depth, false, false, kleidiai_distance};
  right.edge = Edge::last;
  right.fields = {{FieldKind::data, rhs.element, 1, 1, true},
                  {FieldKind::sums, ElementType::i32, kleidiai_factor, 1, false},
                  {FieldKind::scales, ElementType::f32, kleidiai_factor, 1, false},
                  {FieldKind::bias, ElementType::f32, 1, 1, false}};
  return {left, right};
}

void check_pair(const Format& lhs, const Format& rhs, Technique technique, const Isa& isa) {
  const bool floats = is_float(lhs);
  if (!can_multiply(lhs, rhs)) {
    throw std::invalid_argument(fmt::format(
        "formats {} and {} cannot be multiplied: legal pairs are qai8dx with qsi4cx, "
        "qsi8cx, qsi4c32 or qsi8c32, qsi8d32 with qsi4c32 or qsi8c32, f32 with f32 or f16",
        lhs.name, rhs.name));
  }
  if (technique != Technique::outer && floats != (technique == Technique::fma)) {
    throw std::invalid_argument(
        fmt::format("technique {} does not multiply {} with {}; {}", name(technique), lhs.name,
                    rhs.name, floats ? "fma and outer do" : "dot, mmla and outer do"));
  }
  if (floats && rhs.element == ElementType::f16 && !isa.has(OpCode::cvt_f16_f32)) {
    throw std::invalid_argument(
        fmt::format("format {} is not possible on {}: it has no instruction that makes f32 of it",
                    rhs.name, isa.name));
  }
}

}  // namespace

void check_block(const Format& rhs, int64_t block, ElementType scales) {
  if (rhs.scales != Granularity::block) {
    if (block == 0) return;
    throw std::invalid_argument(fmt::format("format {} has no blocks", rhs.name));
  }
  if (block < shortest_block || block > longest_block ||
      !std::has_single_bit(static_cast<uint64_t>(block))) {
    throw std::invalid_argument(
        fmt::format("blocks of {} are not possible: of 32, 64, 128 or 256 they are", block));
  }
  if (bits(scales) != 16 && scales != ElementType::f32) {
    throw std::invalid_argument(
        fmt::format("scales of {} are not possible: of f16, bf16 or f32 they are", name(scales)));
  }
}

LayoutPair choose_layouts(const Format& lhs, const Format& rhs, Technique technique, const Isa& isa,
                          const Panels& wanted) {
  check_pair(lhs, rhs, technique, isa);
  const int block = wanted.block != 0 ? wanted.block : rhs.block;
  check_block(rhs, block, wanted.scales);
  if (technique == Technique::outer && block != 0 && !isa.has(OpCode::tile_fma4)) {
    throw std::invalid_argument(
        fmt::format("outer is not possible with blocks on {}, which has no instruction that adds "
                    "products to rows of tiles: dot and mmla are",
                    isa.name));
  }
  const bool own = wanted.style == LayoutStyle::own;
  const Appetite wants =
      own ? appetite(rhs, technique, isa, wanted.kr) : kleidiai_appetite(technique, isa);
  Panels panels = wanted;
  if (panels.kr == 0) panels.kr = wants.kr.front();
  if (panels.lhs == Length{}) panels.lhs = wants.lhs_rows;
  if (panels.rhs == Length{}) panels.rhs = wants.rhs_columns;
  check_kr(wants, isa, panels.kr);
  check_panels(wants, isa, panels);
  if (!own) return kleidiai_layouts(lhs, rhs, panels);
  if (is_float(lhs)) {
    if (technique != Technique::outer && panels.lhs != Length{1}) {
      throw std::invalid_argument(
          fmt::format("lhs panel {} does not fit {}, which is not packed: 1 does",
                      to_string(panels.lhs), lhs.name));
    }
    return {float_layout(Side::lhs, lhs, panels.lhs), float_layout(Side::rhs, rhs, panels.rhs)};
  }
  return {lhs_layout(lhs, isa, wants, panels, block), rhs_layout(rhs, wants, panels, block)};
}

}  // namespace tw
