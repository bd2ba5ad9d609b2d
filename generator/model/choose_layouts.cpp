// Layouts follow from the operand contract of what the ISA multiplies; or from what KleidiAI's
// packers write (kleidiai_layouts.cpp).
#include <fmt/format.h>

#include <algorithm>

#include "model/kleidiai_layouts.h"
#include "model/operand_contract.h"
#include "model/reject.h"

namespace tw {
namespace {

/// Sums of the largest products over so many are tested.
constexpr int longest_block = 4096;

constexpr int segment_bits = 128;
constexpr int lane_bits = 32;

void check_kr(const OperandContract& wants, const Isa& isa, int kr) {
  if (std::find(wants.kr.begin(), wants.kr.end(), kr) != wants.kr.end()) return;
  reject("kr {} does not fit {} on {}, which eats kr {}", kr, info(wants.code()).name, isa.name,
         fmt::join(wants.kr, " or "));
}

/// Whether a block's codes are whole groups of bytes.
bool fills_blocks(const Format& rhs, int block, int kr) {
  const int codes = std::max(1, 8 / bits(rhs.element));
  return block % (codes * kr) == 0;
}

int preferred_kr(const OperandContract& wants, const Format& rhs, int block) {
  const auto fits = [&](int kr) { return fills_blocks(rhs, block, kr); };
  const auto found = std::find_if(wants.kr.begin(), wants.kr.end(), fits);
  return found != wants.kr.end() ? *found : wants.kr.front();
}

void check_block_depth(const Format& rhs, const Isa& isa, int block, int kr) {
  if (fills_blocks(rhs, block, kr)) return;
  reject<NoInstruction>(
      "kr {} is not possible with format {} on {}: {} codes share a byte, blocks have {}", kr,
      rhs.name, isa.name, 8 / bits(rhs.element), block);
}

void check_panels(const OperandContract& wants, const Isa& isa, const Panels& panels) {
  const Length rows = wants.lhs_rows.of(isa, panels.kr);
  const Length columns = wants.rhs_columns.of(isa, panels.kr);
  if (ratio(panels.lhs, rows) < 1) {
    reject("lhs panel {} does not fit {} on {}: panels of whole operands of {} rows",
           to_string(panels.lhs), info(wants.code()).name, isa.name, to_string(rows));
  }
  if (ratio(panels.rhs, columns) < 1) {
    reject("rhs panel {} does not fit {} on {}: panels of whole vectors, multiples of {} columns",
           to_string(panels.rhs), info(wants.code()).name, isa.name, to_string(columns));
  }
}

/// Values of k that one row of an lhs operand holds. Groups of half as many are put side by side
/// once they are bytes, where a block is too short for bytes that hold several codes of whole ones.
int lhs_depth(const OperandContract& wants, int kr) {
  return wants.contraction == Contraction::mmla ? wants.kr.front() : kr;
}

void check_joined_groups(const OperandContract& wants, const Format& rhs, const Isa& isa, int block,
                         int kr) {
  const int whole = lhs_depth(wants, kr);
  if (kr == whole) return;
  if (fills_blocks(rhs, block, whole)) {
    reject<NoInstruction>("kr {} is not possible with {} of {} on {}, whose blocks kr {} fills", kr,
                          info(wants.code()).name, rhs.name, isa.name, whole);
  }
  if (isa.has(OpCode::zip_lo, lane_bits) && isa.has(OpCode::zip_hi, lane_bits)) return;
  reject<NoInstruction>(
      "kr {} is not possible with {} of {} on {}: it has no instructions that join groups of it",
      kr, info(wants.code()).name, rhs.name, isa.name);
}

/// Floats need nothing beside them but the bias. An lhs that is not packed is as its user keeps it,
/// so k ends where it ends; others are read 16 bytes at a time.
Layout float_layout(Side side, const Format& format, const Format& lhs, const Panels& panels) {
  Layout layout;
  layout.side = side;
  layout.element = format.element;
  layout.panel = side == Side::lhs ? panels.lhs : panels.rhs;
  layout.order.kr = panels.kr;
  layout.k_multiple = is_packed(lhs, panels.sums) ? segment_bits / bits(lhs.element) : 1;
  layout.fields = {{FieldKind::data, format.element, 1, 1, true}};
  if (side == Side::rhs) layout.fields.push_back({FieldKind::bias, ElementType::f32});
  return layout;
}

/// Whether a kernel reads a block's sums as vectors, before its codes.
bool starts_are_vectors(const Isa& isa, const OperandContract& wants, int block) {
  return block != 0 && wants.pair == NibblePair::column && isa.vector_bytes == Length{16};
}

/// What accumulators start from. A row's sum is a fact, of which the kernel makes its start once a
/// tile; but where operands are consecutive in k gcc keeps accumulators apart only when each loads
/// its start. Once a block is often: starts are ready there, as often as an accumulator wants them.
Field sums_field(const Isa& isa, const Format& rhs, const OperandContract& wants,
                 const Panels& panels, int block) {
  Field sums{FieldKind::sums, ElementType::i32, 1, 1, block != 0};
  if (block != 0 || loads_starts(wants)) sums.factor = start_factor(wants, rhs, panels.kr);
  // Of zero points or minimums only, or in products of pairs.
  const bool starts = wants.low_unsigned && sums.factor != 0;
  if (!starts || (block != 0 && sums_in_tiles(wants))) sums.factor = -1;
  if (block == 0) return sums;
  const bool pairs = wants.code() == OpCode::mmla_s8s8;  // a 2x2 accumulator
  sums.repeat = pairs ? 2 : 1;
  if (!starts_are_vectors(isa, wants, block)) return sums;
  // Four vectors at least, which one instruction may load.
  if (!pairs) sums.repeat = std::max(4, 16 / static_cast<int>(panels.lhs.fixed));
  // A raw byte times an activation is at most 2^14: sums of up to 128 of them are floats at once;
  // code for long blocks does not know how many there are.
  const bool two_lanes = wants.code() == OpCode::dot4_s8s8 && panels.kr == 8;
  if (block <= plain_block) sums.base = two_lanes ? float_base / 2 : float_base;
  return sums;
}

/// `block`: of the weights, whose sums over a block are taken one by one.
Layout lhs_layout(const Format& format, const Format& rhs, const Isa& isa,
                  const OperandContract& wants, const Panels& panels, int block) {
  Layout layout;
  layout.side = Side::lhs;
  layout.element = wants.lhs_kept;
  layout.panel = panels.lhs;
  layout.order.kr = lhs_depth(wants, panels.kr);
  layout.order.even_first = wants.lhs_kept == ElementType::i16;
  layout.block = block;
  if (block != 0) layout.k_multiple = std::min(layout.k_multiple, block);
  const Field data{FieldKind::data, wants.lhs_kept, 1, 1, true};
  const bool has_starts = start_factor(wants, rhs, panels.kr) != 0;
  const Field sums = sums_field(isa, rhs, wants, panels, block);
  layout.fields = {data};
  const bool scales_sums = block != 0 || !is_static(format);
  if (has_starts || (scales_sums && (rhs.has_zero_point || rhs.has_minimums))) {
    const bool first = starts_are_vectors(isa, wants, block);
    layout.fields.insert(first ? layout.fields.begin() : layout.fields.end(), sums);
  }
  if (is_static(format)) return layout;
  if (format.has_zero_point) {
    layout.fields.push_back({FieldKind::zero_points, ElementType::i32});
  }
  const bool by_blocks = format.scales == Granularity::block;
  const bool pairs = wants.code() == OpCode::mmla_s8s8;
  const int repeat = !by_blocks ? 1 : pairs ? 2 : sums.repeat >= 4 ? 4 : 1;
  layout.fields.push_back({FieldKind::scales, ElementType::f32, 1, repeat, by_blocks});
  // Codes alone are the same with blocks and without, of any length.
  if (!by_blocks && !has_starts) layout.block = 0;
  return layout;
}

/// Scales and minimums of blocks become bytes, before whose super-block stand their steps, as the
/// scales were.
void add_steps(Layout& layout) {
  const ElementType type = field_of(layout, FieldKind::scales).type;
  for (Field& field : layout.fields) {
    const bool is_number = field.kind == FieldKind::scales || field.kind == FieldKind::minimums;
    if (is_number) field.type = ElementType::i8;
  }
  auto at = layout.fields.insert(layout.fields.begin(), {FieldKind::scale_steps, type});
  if (field_index(layout, FieldKind::minimums) < 0) return;
  layout.fields.insert(at + 1, {FieldKind::minimum_steps, type});
}

Layout rhs_layout(const Format& lhs, const Format& format, const OperandContract& wants,
                  const Panels& panels, int block) {
  Layout layout;
  layout.side = Side::rhs;
  layout.element = format.element;
  layout.table = format.table;
  layout.panel = panels.rhs;
  layout.order = {panels.kr, wants.pair, wants.low_unsigned, wants.high_unsigned, panels.kr};
  layout.block = block;
  if (block != 0)
    layout.k_multiple = std::min(layout.k_multiple, std::max(block, format.super_block));
  const Field data{FieldKind::data, format.element, 1, 1, true};
  const Field bias{FieldKind::bias, ElementType::f32};
  if (format.scales == Granularity::block) {
    // Codes of a byte as far apart as a block allows, or what of it code loops over, nibbles as in
    // ggml's: packing those moves whole groups of kr bytes.
    const int together = std::min({format.block, block, plain_block});
    const int distance = std::max(together * bits(format.element) / 8, panels.kr);
    if (wants.pair == NibblePair::depth) layout.order.distance = distance;
    // The sums serve an lhs with zero points; they are few enough to have one layout for all.
    // Scales stand behind the codes: few columns' would move those off multiples of a vector.
    const ElementType scales = panels.scales.value_or(format.scale_type);
    layout.fields = {data};
    if (format.top_bits != 0) {
      const ElementType type = format.top_bits == 1 ? ElementType::i1 : ElementType::i2;
      layout.fields.push_back({FieldKind::tops, type, 1, 1, true});
    }
    layout.fields.push_back({FieldKind::scales, scales, 1, 1, true});
    if (format.has_zero_point)
      layout.fields.push_back({FieldKind::zero_points, scales, 1, 1, true});
    if (format.has_minimums) layout.fields.push_back({FieldKind::minimums, scales, 1, 1, true});
    if (keeps_block_sums(format)) layout.fields.push_back({FieldKind::sums, ElementType::f32});
    layout.fields.push_back(bias);
    layout.super_block = format.super_block;
    if (has_steps(format)) add_steps(layout);
  } else if (is_static(lhs)) {
    layout.fields = {
        data, {FieldKind::bias, ElementType::i32}, {FieldKind::scales, ElementType::f32}};
  } else {
    layout.fields = {data};
    if (!is_byte_float(format.element)) {
      layout.fields.push_back({FieldKind::sums, ElementType::i32});
    }
    layout.fields.push_back({FieldKind::scales, ElementType::f32});
    if (format.has_zero_point) {
      layout.fields.push_back({FieldKind::zero_points, ElementType::f32});
    }
    layout.fields.push_back(bias);
  }
  return layout;
}

/// A row of a tile of activations holds many groups of k, and their k ends where one does. That of
/// weights ends where it does for vectors: kernels see to what is left of a tile.
void fill_tiles(LayoutPair& layouts, const Isa& isa, const OperandContract& wants) {
  const Length row = tile_file(isa, wants.code(), 1).bytes;
  if (!row.is_fixed() || !isa.tile_rows().is_fixed() || !isa.tile_columns().is_fixed()) {
    reject("technique tile is not possible on {}: its tiles have no fixed shape", isa.name);
  }
  const auto depth = static_cast<int>(row.fixed) * 8 / bits(layouts.lhs.element);
  layouts.lhs.order.kr = depth;
  layouts.lhs.k_multiple = std::max(layouts.lhs.k_multiple, depth);
}

/// "a with b or c, d with c": the pairs of formats that `fit`.
template <typename F>
std::string pairs_of_formats(F&& fit) {
  std::string text;
  for (const Format& lhs : formats()) {
    std::vector<std::string_view> fitting;
    for (const Format& rhs : formats()) {
      if (fit(lhs, rhs)) fitting.push_back(rhs.name);
    }
    for (size_t i = 0; i < fitting.size(); ++i) {
      if (i == 0) text += fmt::format("{}{} with ", text.empty() ? "" : ", ", lhs.name);
      if (i > 0) text += i + 1 == fitting.size() ? " or " : ", ";
      text += fitting[i];
    }
  }
  return text;
}

const OperandContract& kleidiai_contract(const Format& lhs, const Format& rhs, Technique technique,
                                         const Isa& isa, int block, const Panels& wanted) {
  if (!kleidiai_packs(lhs, rhs)) {
    reject("layout kleidiai is not known for {} with {}: only for {}", lhs.name, rhs.name,
           pairs_of_formats(kleidiai_packs));
  }
  const ElementType its_scales = kleidiai_scales(lhs, rhs);
  if (block != 0 && wanted.scales.value_or(its_scales) != its_scales) {
    reject("layout kleidiai is not known for scales of {}: those of blocks are {}",
           name(*wanted.scales), name(its_scales));
  }
  const bool wide = isa.file_of(Kind::tile) != nullptr;  // panels, as vectors
  const bool one_length = lhs.scales == Granularity::block && !rhs.has_zero_point && !wide;
  if (block != 0 && (one_length ? block != plain_block : block < plain_block)) {
    reject("layout kleidiai is not known for {} in blocks of {}: they are of {}{}", lhs.name, block,
           plain_block, one_length ? "" : " and more");
  }
  const bool splats_halves = isa.has(OpCode::load_dup, 16, isa.vector_bytes.divided(2));
  const bool splats_scales =
      (isa.has(OpCode::dup_lane, 32) || splats_halves) && isa.has(OpCode::cvt_f16_f32);
  if (lhs.scales == Granularity::block && !splats_scales) {
    reject<NoInstruction>(
        "layout kleidiai is not possible for {} on {}: it has no instruction that makes vectors of "
        "a row's scale",
        lhs.name, isa.name);
  }
  const bool ends_with_k =
      isa.has(OpCode::tile_dot4_s8s8_lane) && isa.has(OpCode::load_pred_dup, 8);
  if (is_static(lhs) && technique != Technique::outer && !ends_with_k) {
    reject<NoInstruction>(
        "layout kleidiai is not possible for {} with technique {}: its rows end with k, within "
        "what that reads at once; outer is possible",
        lhs.name, name(technique));
  }
  const OperandContract* found =
      find_contract(lhs, rhs, technique, LayoutStyle::kleidiai, isa, wanted.sums);
  if (found != nullptr) return *found;
  const char* const needs = is_float(lhs)
                                ? "those of floats"
                                : "products of signed bytes, and for nibbles shifts of bytes";
  reject("layout kleidiai is not possible with technique {} on {}: that needs {}", name(technique),
         isa.name, needs);
}

const OperandContract& own_contract(const Format& lhs, const Format& rhs, Technique technique,
                                    const Isa& isa, ElementType sums) {
  const OperandContract* found = find_contract(lhs, rhs, technique, LayoutStyle::own, isa, sums);
  if (found != nullptr) return *found;
  reject<NoInstruction>("technique {} is not possible on {}: it has no instruction for it",
                        name(technique), isa.name);
}

void check_pair(const Format& lhs, const Format& rhs, Technique technique, const Isa& isa,
                ElementType sums) {
  if (!can_multiply(lhs, rhs)) {
    reject("formats {} and {} cannot be multiplied: legal pairs are {}", lhs.name, rhs.name,
           pairs_of_formats(can_multiply));
  }
  const std::vector<std::string_view> legal = techniques_of(lhs, rhs, sums);
  if (std::find(legal.begin(), legal.end(), name(technique)) == legal.end()) {
    reject<NoInstruction>("technique {} does not multiply {} with {}; legal here: {}",
                          name(technique), lhs.name, rhs.name, fmt::join(legal, ", "));
  }
  if (technique == Technique::fma && rhs.element == ElementType::f16 &&
      !isa.has(OpCode::cvt_f16_f32)) {
    reject("format {} is not possible on {}: it has no instruction that makes f32 of it", rhs.name,
           isa.name);
  }
}

}  // namespace

void check_block(const Format& rhs, int64_t block, ElementType scales) {
  if (rhs.scales != Granularity::block) {
    if (block == 0) return;
    reject("format {} has no blocks", rhs.name);
  }
  const bool one_length = rhs.super_block != 0 || rhs.top_bits != 0 || rhs.table != nullptr;
  if (one_length && block != rhs.block) {
    reject("blocks of {} are not possible: {} of {} are of {}", block,
           rhs.super_block != 0 ? "those in super-blocks" : "those", rhs.name, rhs.block);
  }
  const bool is_short = block == shortest_block || block == plain_block;
  if (!is_short && !one_length &&
      (block < long_block_step || block > longest_block || block % long_block_step != 0)) {
    reject("blocks of {} are not possible: of {}, {}, or of a multiple of {} up to {}, they are",
           block, shortest_block, plain_block, long_block_step, longest_block);
  }
  if (rhs.scale_type == ElementType::e8m0) {
    if (scales == rhs.scale_type) return;
    reject("scales of {} are not possible: those of {} are {}", name(scales), rhs.name,
           name(rhs.scale_type));
  }
  if (bits(scales) != 16 && scales != ElementType::f32) {
    reject("scales of {} are not possible: of f16, bf16 or f32 they are", name(scales));
  }
}

/// Scales, or of super-blocks the numbers of them, may be bytes, of which a kernel makes f32.
static void check_bytes_of_scales(const Format& rhs, const Isa& isa) {
  const bool widens = isa.has(OpCode::widen_8_32) && isa.has(OpCode::cvt_i32_f32) &&
                      isa.has(OpCode::load, 0, isa.vector_bytes.divided(4));
  const bool are_bytes = has_steps(rhs) || bits(rhs.scale_type) == 8;
  if (!are_bytes || widens) return;
  reject<NoInstruction>(
      "format {} is not possible on {}: it has no instruction that makes 32 bits of bytes",
      rhs.name, isa.name);
}

/// Tiles that begin with a row's sum times the middle code take it as a number of 16 bits.
static void check_pair_sums(const OperandContract& contract, const Format& rhs, const Isa& isa,
                            int block) {
  constexpr int most = 32767 / 128;
  const bool begins = sums_in_tiles(contract) && contract.pair == NibblePair::depth &&
                      start_factor(contract, rhs, contract.kr.front()) != 0;
  if (!begins || block <= most) return;
  reject<NoInstruction>(
      "blocks of {} are not possible with format {} on {}: tiles begin with sums of 16 bits, those "
      "of up to {} codes",
      block, rhs.name, isa.name, most);
}

LayoutPair choose_layouts(const Format& lhs, const Format& rhs, Technique technique, const Isa& isa,
                          const Panels& wanted) {
  check_pair(lhs, rhs, technique, isa, wanted.sums);
  const int block = wanted.block != 0 ? wanted.block : rhs.block;
  check_block(rhs, block, wanted.scales.value_or(rhs.scale_type));
  check_bytes_of_scales(rhs, isa);
  const bool own = wanted.style == LayoutStyle::own;
  if (wanted.bias && (own || !is_float(lhs) || !is_float(rhs))) {
    reject(
        "a type of biases is possible with layout kleidiai of floats only: others have their own");
  }
  const OperandContract& contract =
      own ? own_contract(lhs, rhs, technique, isa, wanted.sums)
          : kleidiai_contract(lhs, rhs, technique, isa, block, wanted);
  // Where rows are moved, each tile has whole sums: not those of raw bytes.
  const bool adds_rows = isa.has(OpCode::tile_fma4) ||
                         (isa.has(OpCode::tile_put) && contract.pair != NibblePair::column);
  if (technique == Technique::outer && block != 0 && !adds_rows) {
    reject<NoInstruction>(
        "outer is not possible with blocks of {} on {}, which has no instruction that adds "
        "products to rows of tiles: dot and mmla are",
        rhs.name, isa.name);
  }
  check_pair_sums(contract, rhs, isa, block);
  Panels panels = wanted;
  if (panels.kr == 0) panels.kr = preferred_kr(contract, rhs, block);
  if (panels.lhs == Length{}) panels.lhs = contract.lhs_rows.of(isa, panels.kr);
  if (panels.rhs == Length{}) panels.rhs = contract.rhs_columns.of(isa, panels.kr);
  check_kr(contract, isa, panels.kr);
  check_block_depth(rhs, isa, block, panels.kr);
  check_joined_groups(contract, rhs, isa, block, panels.kr);
  check_panels(contract, isa, panels);
  // Not packed, or read several values of k at a time.
  if (is_float(lhs) && technique == Technique::fma && panels.lhs != Length{1}) {
    reject("lhs panel {} does not fit fma of {}: 1 does", to_string(panels.lhs), lhs.name);
  }
  const bool halves = multiplies_as_halves(lhs, rhs);
  const bool as_ours = contract.pair == NibblePair::next ||
                       (sums_in_tiles(contract) && contract.pair == NibblePair::none);
  if (!own && !halves && (!as_ours || !lhs.quantized_on_the_fly)) {
    LayoutPair layouts = kleidiai_layouts(lhs, rhs, panels, block);
    // Groups of k are the weights' only: rows are as their user keeps them.
    const Contraction how = contract.contraction;
    if (how == Contraction::fma_pairs || how == Contraction::dot_groups) {
      layouts.lhs.order.kr = layouts.lhs.k_multiple = 1;
    }
    // Of panels as wide as vectors what stands where there is nothing is ours.
    if (!panels.lhs.is_fixed()) layouts.lhs.edge = Edge::zeros;
    if (!panels.rhs.is_fixed()) layouts.rhs.edge = Edge::zeros;
    set_block_fields(lhs, rhs, layouts);
    return layouts;
  }
  if (is_float(lhs)) {
    Panels of_lhs = panels;
    if (!is_float(rhs)) of_lhs.kr = halves ? lane_bits / bits(lhs.element) : 1;
    LayoutPair layouts = {float_layout(Side::lhs, lhs, lhs, of_lhs),
                          is_float(rhs) ? float_layout(Side::rhs, rhs, lhs, panels)
                                        : rhs_layout(lhs, rhs, contract, panels, block)};
    if (contract.contraction == Contraction::tile_dot) fill_tiles(layouts, isa, contract);
    if (!own) set_block_fields(lhs, rhs, layouts);
    return layouts;
  }
  LayoutPair layouts = {lhs_layout(lhs, rhs, isa, contract, panels, block),
                        rhs_layout(lhs, rhs, contract, panels, block)};
  if (contract.contraction == Contraction::tile_dot) fill_tiles(layouts, isa, contract);
  if (own) return layouts;
  // For accumulator tiles, and of nibbles that a table makes bytes of, KleidiAI's are ours but for
  // what stands where there is nothing.
  layouts.lhs.rounding = Rounding::away;
  if (panels.lhs.is_fixed()) layouts.lhs = kleidiai_layouts(lhs, rhs, panels, block).lhs;
  set_block_fields(lhs, rhs, layouts);
  return layouts;
}

}  // namespace tw
