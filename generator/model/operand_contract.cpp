#include "model/operand_contract.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tw {
namespace {

using enum Technique;
using enum NibblePair;
constexpr OfScales any_scales = OfScales::any;
constexpr OfScales column_scales = OfScales::columns;
constexpr OfScales block_scales = OfScales::blocks;
constexpr OfLayouts own = OfLayouts::own;
constexpr OfLayouts kleidiai = OfLayouts::kleidiai;
constexpr OfLayouts any_style = OfLayouts::any;
constexpr ElementType i1 = ElementType::i1;
constexpr ElementType i2 = ElementType::i2;
constexpr ElementType i4 = ElementType::i4;
constexpr ElementType i8 = ElementType::i8;
constexpr ElementType i16 = ElementType::i16;
constexpr ElementType e4m3 = ElementType::e4m3;
constexpr ElementType e5m2 = ElementType::e5m2;
constexpr ElementType f16 = ElementType::f16;
constexpr ElementType bf16 = ElementType::bf16;
constexpr ElementType f32 = ElementType::f32;
constexpr Extent one{1};
constexpr Extent two{2};
constexpr Extent lanes{0, 1, 4};       ///< one row or column in each lane of 32 bits
constexpr Extent halves{0, 1, 2};      ///< one in each of 16 bits
constexpr Extent two_lanes{0, 2, 4};   ///< the same of two vectors
constexpr Extent four_lanes{0, 4, 4};  ///< of four
constexpr Extent raw{0, 2, 0};         ///< what is left of two vectors at depth kr
constexpr Extent tile_rows{0, 0, 1, Extent::Tile::rows};
constexpr Extent tile_columns{0, 0, 1, Extent::Tile::columns};

}  // namespace

/// Contracts in the order in which they are preferred. Columns: technique, whose layouts, types of
/// weights, whose scales, needed operations, kr, lhs rows, rhs columns, nibbles, unsigned low and
/// high, lhs kept as, contraction.
static const std::vector<OperandContract>& contracts() {
  // clang-format off
  static const std::vector<OperandContract> table = {
      // A row of outputs by itself, in accumulator tiles: the operands of outer products. Where the
      // machine has a table of them codes of 2 bits are signed, four vectors of columns in one;
      // KleidiAI's stand for values that each call brings.
      {dot, own, {i4}, any_scales, {{OpCode::tile_dot4_s8s8_lane}, {OpCode::table_nibbles}}, {4}, one, two_lanes,
       next, true, true, i8, Contraction::dot_groups},
      {dot, any_style, {i4}, any_scales, {{OpCode::tile_dot4_s8s8_lane}, {OpCode::nibbles}}, {4}, one, two_lanes,
       next, false, false, i8, Contraction::dot_groups},
      {dot, own, {i2, i4}, block_scales, {{OpCode::tile_dot4_s8s8_lane}, {OpCode::tile_dot2_s16s16_lane}, {OpCode::shr, 8}},
       {4}, one, two_lanes, depth, true, true, i8, Contraction::dot_groups},
      {dot, own, {i2}, column_scales, {{OpCode::tile_dot4_s8s8_lane}, {OpCode::table_put}, {OpCode::table_values}}, {4}, one, four_lanes,
       next, false, false, i8, Contraction::dot_groups},
      {dot, kleidiai, {i2}, column_scales, {{OpCode::tile_dot4_s8s8_lane}, {OpCode::table_values}}, {4}, one, four_lanes,
       next, true, true, i8, Contraction::dot_groups},
      {dot, any_style, {i8}, any_scales, {{OpCode::tile_dot4_s8s8_lane}}, {4}, one, two_lanes,
       none, false, false, i8, Contraction::dot_groups},

      // Codes of a column that share bytes and stand for values of a table, which are bytes with or
      // without a sign.
      {dot, own, {i1, i2, i4}, block_scales, {{OpCode::dot4_u8s8}, {OpCode::look_up}}, {4}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      {dot, own, {i1, i2, i4}, block_scales, {{OpCode::dot4_u8s8}, {OpCode::look_up_lanes}}, {4}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      {dot, own, {i1, i2, i4}, block_scales, {{OpCode::dot2_u8s8_sat}, {OpCode::dot2_s16}, {OpCode::look_up}}, {4}, one, lanes,
       depth, true, true, i8, Contraction::dot_narrow},
      {dot, own, {i2, i4}, block_scales, {{OpCode::dot2_s16}, {OpCode::look_up}}, {4}, one, lanes,
       depth, true, true, i16, Contraction::dot_pairs},
      {dot, own, {i1, i2, i4}, block_scales, {{OpCode::dot4_s8s8}, {OpCode::dot4_s8s8_lane}, {OpCode::look_up}}, {4, 8}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      {dot, own, {i1, i4}, block_scales, {{OpCode::dot4_s8s8}, {OpCode::look_up}}, {8, 4}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      {mmla, own, {i1, i4}, block_scales, {{OpCode::mmla_s8s8}, {OpCode::look_up}}, {8}, two, lanes,
       depth, true, true, i8, Contraction::mmla},
      {mmla, own, {i2}, block_scales, {{OpCode::mmla_s8s8}, {OpCode::look_up}}, {8, 4}, two, lanes,
       depth, true, true, i8, Contraction::mmla},
      {dot, kleidiai, {i2}, any_scales, {{OpCode::dot4_s8s8}, {OpCode::dot4_s8s8_lane}, {OpCode::look_up}}, {4}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},

      // Codes of 2 and 4 bits as they are. An unsigned operand takes offset ones: nibbles low k,
      // high k + 4, one register each.
      {dot, own, {i2, i4}, any_scales, {{OpCode::dot4_u8s8}}, {4}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      // Without a dot product: the same operands, summed in 16 bits first.
      {dot, own, {i2, i4}, any_scales, {{OpCode::dot2_u8s8_sat}, {OpCode::dot2_s16}}, {4}, one, lanes,
       depth, true, true, i8, Contraction::dot_narrow},
      // Four unsigned codes of 2 bits in a byte are signed bytes just as well. Terms of zero points
      // take k in every lane.
      {dot, own, {i2}, any_scales, {{OpCode::dot4_s8s8}, {OpCode::dot4_s8s8_lane}, {OpCode::dup, 32}}, {4, 8}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      {dot, own, {i2}, any_scales, {{OpCode::dot4_s8s8}, {OpCode::dup, 32}}, {8, 4}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      // Where blocks are too short for bytes of whole operands they are two groups, joined.
      {mmla, own, {i2}, any_scales, {{OpCode::mmla_s8s8}, {OpCode::dup, 32}}, {8, 4}, two, lanes,
       depth, true, true, i8, Contraction::mmla},
      // Of nibbles a signed one takes the raw byte: 16 * (signed high nibble) + (low nibble + 8).
      {dot, own, {i4}, any_scales, {{OpCode::dot4_s8s8}, {OpCode::dot4_s8s8_lane}}, {4, 8}, one, raw,
       column, true, false, i8, Contraction::dot_column},
      {dot, own, {i4}, any_scales, {{OpCode::dot4_s8s8}}, {8, 4}, one, raw,
       column, true, false, i8, Contraction::dot_column},
      {mmla, own, {i4}, any_scales, {{OpCode::mmla_s8s8}}, {8}, two, raw,
       column, true, false, i8, Contraction::mmla},
      // With tops, nibbles must be alone: codes of up to 6 bits are signed bytes as they are.
      {dot, own, {i4}, any_scales, {{OpCode::dot4_s8s8}, {OpCode::dot4_s8s8_lane}}, {4, 8}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      {dot, own, {i4}, any_scales, {{OpCode::dot4_s8s8}}, {8, 4}, one, lanes,
       depth, true, true, i8, Contraction::dot_depth},
      {mmla, own, {i4}, any_scales, {{OpCode::mmla_s8s8}}, {8}, two, lanes,
       depth, true, true, i8, Contraction::mmla},
      // A tile has bytes: codes become such in memory, the operands of dot4_u8s8.
      {tile, own, {i2, i4}, column_scales, {{OpCode::tile_dot4_s8u8}, {OpCode::tile_load}, {OpCode::tile_store}},
       {4}, tile_rows, tile_columns, depth, true, true, i8, Contraction::tile_dot},
      // With a table of signed nibbles no byte need be multiplied raw.
      {outer, own, {i4}, any_scales, {{OpCode::outer_s8s8}, {OpCode::table_nibbles}}, {4}, tile_rows, two_lanes,
       next, true, true, i8, Contraction::outer},
      {outer, any_style, {i4}, any_scales, {{OpCode::outer_s8s8}, {OpCode::nibbles}}, {4}, tile_rows, two_lanes,
       next, false, false, i8, Contraction::outer},
      {outer, own, {i4}, any_scales, {{OpCode::outer_s8s8}}, {4}, tile_rows, two_lanes,
       column, true, false, i8, Contraction::outer},
      {outer, own, {i2}, column_scales, {{OpCode::outer_s8s8}, {OpCode::table_put}, {OpCode::table_values}}, {4}, tile_rows, four_lanes,
       next, false, false, i8, Contraction::outer},
      // With tops, and of 2 bits, as for vectors: sums in accumulator tiles, which products of pairs
      // start.
      {outer, own, {i2, i4}, block_scales, {{OpCode::outer_s8s8}, {OpCode::outer_s16s16}, {OpCode::shr, 8}}, {4}, tile_rows,
       two_lanes, depth, true, true, i8, Contraction::outer},
      // KleidiAI's, of nibbles where shifts of bytes tell them apart.
      {outer, kleidiai, {i2}, any_scales, {{OpCode::outer_s8s8}, {OpCode::table_values}}, {4}, tile_rows, four_lanes,
       next, true, true, i8, Contraction::outer},
      {outer, kleidiai, {i4}, any_scales, {{OpCode::outer_s8s8}, {OpCode::shl, 8}}, {4}, tile_rows, lanes,
       depth, false, false, i8, Contraction::outer},
      {dot, kleidiai, {i4}, any_scales, {{OpCode::dot4_s8s8}, {OpCode::shl, 8}}, {4, 8}, one, lanes,
       depth, false, false, i8, Contraction::dot_depth},
      {mmla, kleidiai, {i4}, any_scales, {{OpCode::mmla_s8s8}, {OpCode::shl, 8}}, {8}, two, lanes,
       depth, false, false, i8, Contraction::mmla},
      // With activations of f16 they become such, too.
      {outer, kleidiai, {i4}, any_scales, {{OpCode::outer_f16}, {OpCode::nibble_halves}}, {4}, tile_rows, four_lanes,
       next, true, true, f16, Contraction::outer},

      // Weights of 8 bits.
      {dot, own, {i8}, any_scales, {{OpCode::dot4_u8s8}}, {4}, one, lanes,
       none, true, false, i8, Contraction::dot_depth},
      {dot, any_style, {i8}, any_scales, {{OpCode::dot4_s8s8}, {OpCode::dot4_s8s8_lane}}, {4, 8}, one, lanes,
       none, false, false, i8, Contraction::dot_depth},
      {dot, own, {i8}, any_scales, {{OpCode::dot4_s8s8}}, {8, 4}, one, lanes,
       none, false, false, i8, Contraction::dot_depth},
      // Products of 16 bits: a mask and a shift widen unsigned bytes, two of four each.
      {dot, own, {i8}, any_scales, {{OpCode::dot2_s16}}, {4}, one, lanes,
       none, true, false, i16, Contraction::dot_pairs},
      {mmla, any_style, {i8}, any_scales, {{OpCode::mmla_s8s8}}, {8}, two, lanes,
       none, false, false, i8, Contraction::mmla},
      {outer, any_style, {i8}, any_scales, {{OpCode::outer_s8s8}}, {4}, tile_rows, two_lanes,
       none, false, false, i8, Contraction::outer},
      // Tiles are loaded and stored only: unsigned weights are those of dot4_u8s8.
      {tile, own, {i8}, column_scales, {{OpCode::tile_dot4_s8s8}, {OpCode::tile_load}, {OpCode::tile_store}},
       {4}, tile_rows, tile_columns, none, false, false, i8, Contraction::tile_dot},
      {tile, own, {i8}, column_scales, {{OpCode::tile_dot4_s8u8}, {OpCode::tile_load}, {OpCode::tile_store}},
       {4}, tile_rows, tile_columns, none, true, false, i8, Contraction::tile_dot},

      // Weights in floats.
      {outer, any_style, {f32}, any_scales, {{OpCode::outer_f32}}, {1}, tile_rows, two_lanes,
       none, false, false, f32, Contraction::outer},
      {fma, any_style, {f32}, any_scales, {{OpCode::fma}}, {1}, one, lanes,
       none, false, false, f32, Contraction::fma},
      {fma, own, {f16}, any_scales, {{OpCode::fma}, {OpCode::cvt_f16_f32}}, {1}, one, lanes,
       none, false, false, f32, Contraction::fma},
      {fma, own, {bf16}, any_scales, {{OpCode::fma}, {OpCode::cvt_bf16_f32}}, {1}, one, lanes,
       none, false, false, f32, Contraction::fma},
      // Of 8 bits, two vectors of columns at a time: they become f16 first.
      {fma, own, {e4m3, e5m2}, any_scales, {{OpCode::fma}, {OpCode::widen_8_16}, {OpCode::cvt_f16_f32_half}},
       {1}, one, two_lanes, none, false, false, f32, Contraction::fma},
      // Both sides in bf16, two or four values of k at a time.
      {dot, own, {bf16}, any_scales, {{OpCode::dot2_bf16_odd}}, {4, 2}, one, lanes,
       none, false, false, bf16, Contraction::dot_depth},
      {dot, own, {bf16}, any_scales, {{OpCode::dot2_bf16}}, {2}, one, lanes,
       none, false, false, bf16, Contraction::dot_depth},
      {dot, kleidiai, {bf16}, any_scales, {{OpCode::dot2_bf16_odd}}, {4}, one, lanes,
       none, false, false, bf16, Contraction::dot_depth},
      {mmla, any_style, {bf16}, any_scales, {{OpCode::mmla_bf16_odd}}, {4}, two, lanes,
       none, false, false, bf16, Contraction::mmla},
      {tile, own, {bf16}, any_scales, {{OpCode::tile_dot2_bf16}, {OpCode::tile_load}, {OpCode::tile_store}},
       {2}, tile_rows, tile_columns, none, false, false, bf16, Contraction::tile_dot},
      {outer, any_style, {bf16}, any_scales, {{OpCode::outer_bf16_odd}}, {2}, tile_rows, two_lanes,
       none, false, false, bf16, Contraction::outer},
      // Both in f16: sums are f32, or f16, too.
      {fma, own, {f16}, any_scales, {{OpCode::fma_lo_f16}, {OpCode::fma_hi_f16}}, {1}, one, halves,
       none, false, false, f16, Contraction::fma_halves},
      {fma, any_style, {f16}, any_scales, {{OpCode::fma_f16_lane}, {OpCode::load_dup, 16}}, {1}, one, halves,
       none, false, false, f16, Contraction::fma_halves},
      {fma, kleidiai, {f16}, any_scales, {{OpCode::fma_even_f16}, {OpCode::fma_odd_f16}}, {2}, one, lanes,
       none, false, false, f16, Contraction::fma_pairs},
      {outer, any_style, {f16}, any_scales, {{OpCode::outer_f16}}, {2}, tile_rows, two_lanes,
       none, false, false, f16, Contraction::outer},
      // Codes with an lhs of f32: the layouts of dot, whose lanes hold several values of k.
      {fma, own, {i8}, any_scales, {{OpCode::fma}, {OpCode::xor_}, {OpCode::dot4_u8s8}}, {4}, one,
       lanes, none, true, false, f32, Contraction::fma},
      {fma, own, {i8}, any_scales, {{OpCode::fma}, {OpCode::xor_}, {OpCode::dot2_s16}}, {4}, one,
       lanes, none, true, false, f32, Contraction::fma},
      {fma, own, {i8}, any_scales, {{OpCode::fma}, {OpCode::shl, 32}}, {4}, one, lanes,
       none, false, false, f32, Contraction::fma},
      {fma, own, {i4}, any_scales, {{OpCode::fma}, {OpCode::xor_}, {OpCode::dot4_u8s8}}, {4}, one,
       lanes, depth, true, true, f32, Contraction::fma},
      {fma, own, {i4}, any_scales, {{OpCode::fma}, {OpCode::xor_}, {OpCode::dot2_s16}}, {4}, one,
       lanes, depth, true, true, f32, Contraction::fma},
      {fma, own, {i4}, any_scales, {{OpCode::fma}, {OpCode::xor_}, {OpCode::fma_lane}}, {4}, one, raw,
       column, true, false, f32, Contraction::fma},
  };
  // clang-format on
  return table;
}

Length Extent::of(const Isa& isa, int kr) const {
  if (tile != Tile::none) return tile == Tile::rows ? isa.tile_rows() : isa.tile_columns();
  if (vectors == 0) return fixed;
  return (isa.vector_bytes * vectors).divided(bytes != 0 ? bytes : kr);
}

bool sums_in_tiles(const OperandContract& contract) {
  return contract.contraction == Contraction::outer ||
         contract.contraction == Contraction::dot_groups;
}

/// Not bytes that hold codes of two columns, nor those of mmla, whose accumulators load their
/// starts by ports that have nothing else to do, while zeroing takes some cores a slot of products.
static bool counts_from_lowest(const OperandContract& contract, const Format& rhs) {
  return rhs.has_minimums && contract.pair != column && contract.contraction != Contraction::mmla;
}

int start_factor(const OperandContract& contract, const Format& rhs, int kr) {
  if (!contract.low_unsigned || takes_table(rhs)) return 0;
  if (counts_from_lowest(contract, rhs)) return 0;
  if (rhs.table != nullptr) return holds_unsigned(contract) ? -unsigned_offset(*rhs.table) : 0;
  const bool two_lanes = contract.code() == OpCode::dot4_s8s8 && kr == 8;
  const int offset = middle_code(rhs);
  return two_lanes ? -offset / 2 : -offset;
}

int start_factor(const Variant& v) {
  return start_factor(contract_of(v), *v.family.rhs, v.rhs.order.kr);
}

int code_of_zero(const OperandContract& contract, const Format& rhs) {
  return counts_from_lowest(contract, rhs) ? 0 : middle_code(rhs);
}

bool holds_unsigned(const OperandContract& contract) {
  return contract.code() != OpCode::dot4_s8s8 && contract.code() != OpCode::mmla_s8s8 &&
         !sums_in_tiles(contract);
}

int64_t narrow_depth(const Format& rhs) {
  constexpr int64_t operand_k = 4, most_k = 32, most = 32767;
  const int highest = rhs.table == nullptr
                          ? (1 << code_bits(rhs)) - 1
                          : *std::max_element(rhs.table->values.begin(), rhs.table->values.end()) +
                                unsigned_offset(*rhs.table);
  int64_t k = std::min<int64_t>(most_k, rhs.block == 0 ? most_k : rhs.block);
  while (k / 2 * highest * 128 > most) k /= 2;
  return k < operand_k ? 0 : k;
}

bool loads_starts(const OperandContract& contract) {
  return contract.contraction == Contraction::dot_depth ||
         contract.contraction == Contraction::dot_narrow ||
         contract.contraction == Contraction::dot_pairs;
}

const RegisterFile& tile_file(const Isa& isa, OpCode product, size_t argument) {
  const Row& row = *isa.row_for(product);
  return *isa.file(row.operand(row.means.front().args[argument].operand)->file);
}

bool looks_up_codes(const OperandContract& contract) {
  return contract.needs.back().code == OpCode::table_values && !contract.low_unsigned;
}

/// Codes are multiplied with what activations' codes are kept as, floats with the same floats.
static bool fits(const OperandContract& contract, const Format& lhs, const Format& rhs,
                 ElementType sums) {
  const OpInfo& product = info(contract.code());
  const bool half_sums = product.types[product.args.size()]->element == Element::f16;
  const bool fits_lhs =
      is_float(lhs) ? contract.lhs_kept == lhs.element : !is_float(contract.lhs_kept);
  const bool holds_tops = contract.pair == depth && contract.low_unsigned;
  const auto looks_up = [](const Need& need) {
    return need.code == OpCode::look_up || need.code == OpCode::look_up_lanes ||
           need.code == OpCode::table_values || need.code == OpCode::table_nibbles;
  };
  const bool has_table = std::any_of(contract.needs.begin(), contract.needs.end(), looks_up);
  // Codes that count from the lowest have a table of themselves.
  const bool puts_table = contract.needs.back().code == OpCode::table_nibbles;
  const bool takes_codes = looks_up_codes(contract)
                               ? rhs.table == nullptr
                               : rhs.table != nullptr || (puts_table && rhs.has_minimums);
  const auto& weights = contract.weights;
  return fits_lhs && std::find(weights.begin(), weights.end(), rhs.element) != weights.end() &&
         half_sums == (sums == f16) && (holds_tops || rhs.top_bits == 0) &&
         has_table == takes_codes &&
         (contract.contraction != Contraction::dot_narrow || narrow_depth(rhs) != 0);
}

const OperandContract* find_contract(const Format& lhs, const Format& rhs, Technique technique,
                                     LayoutStyle style, const Isa& isa, ElementType sums) {
  for (const OperandContract& contract : contracts()) {
    if (contract.technique != technique || !fits(contract, lhs, rhs, sums) ||
        contract.layouts == (style == LayoutStyle::own ? kleidiai : own) ||
        contract.scales == (rhs.scales == Granularity::block ? column_scales : block_scales)) {
      continue;
    }
    const auto has = [&](const Need& need) { return isa.has(need.code, need.bits); };
    if (std::all_of(contract.needs.begin(), contract.needs.end(), has)) return &contract;
  }
  return nullptr;
}

std::vector<std::string_view> techniques_of(const Format& lhs, const Format& rhs,
                                            ElementType sums) {
  std::vector<std::string_view> names;
  for (const Technique technique : techniques) {
    const auto multiplies = [&](const OperandContract& contract) {
      return contract.technique == technique && fits(contract, lhs, rhs, sums);
    };
    const auto& table = contracts();
    if (std::any_of(table.begin(), table.end(), multiplies)) names.push_back(name(technique));
  }
  return names;
}

std::string no_technique(const Format& lhs, const Format& rhs) {
  return fmt::format("no instruction of it multiplies what {} and {} are packed as", lhs.name,
                     rhs.name);
}

const OperandContract& contract_of(const Variant& v) {
  const OperandContract* contract =
      find_contract(*v.family.lhs, *v.family.rhs, v.technique, v.style, *v.isa, v.family.sums);
  if (contract == nullptr) throw std::logic_error(v.name() + " has no operand contract");
  return *contract;
}

}  // namespace tw
