#include "model/attention.h"

#include <fmt/format.h>

#include <bit>

#include "model/reject.h"

namespace tw {
namespace {

constexpr int64_t group = 4;  ///< positions whose sums over lanes make one vector

/// Rows of positions that become f32 exactly: floats, or codes, in blocks behind a scale of f16.
bool is_positions(const Format& format) {
  return is_float(format) || has_scales_of_positions(format) || format.name == "qsi8c32" ||
         format.name == "qsi4c32";
}

void check_attention_formats(const Family& family) {
  const bool floats = family.lhs->name == "f32" && family.dst == ElementType::f32;
  if (floats && is_positions(*family.rhs) && !family.accumulate) return;
  std::string known;
  for (const Format& format : formats()) {
    if (is_positions(format))
      known += fmt::format("{}{}", known.empty() ? "" : " or ", format.name);
  }
  reject("no attention of {} to {} makes {}: queries and outputs are f32, K and V {}",
         family.lhs->name, family.rhs->name, output_name(family.dst), known);
}

/// Vectors of codes, and their block's scale in all lanes, as f32.
bool has_codes(const Isa& isa) {
  return isa.has(OpCode::and_) && isa.has(OpCode::shr, 32) && isa.has(OpCode::widen_8_32) &&
         isa.has(OpCode::cvt_i32_f32) && isa.has(OpCode::load, 0, isa.vector_bytes.divided(4)) &&
         isa.has(OpCode::load_dup, 16, isa.vector_bytes.divided(2));
}

/// Sums over lanes by zips, halves of vectors that become f32.
void check_isa(const Isa& isa, const Format& positions) {
  if (!isa.vector_bytes.is_fixed()) {
    reject("attention wants vectors of a fixed length");
  }
  const Length lanes = isa.vector_bytes.divided(4);
  const bool adds_lanes =
      lanes == Length{1} || (isa.has(OpCode::zip_lo, 32) && isa.has(OpCode::zip_lo, 64));
  const bool adds_segments = lanes.fixed <= group || isa.has(OpCode::move_segments);
  const bool stores_group = lanes.fixed <= group || isa.has(OpCode::segment);
  const bool loads_masks =
      isa.has(OpCode::cvt_f16_f32) && isa.has(OpCode::load, 0, isa.vector_bytes.divided(2));
  const bool has_tanh = isa.has(OpCode::fdiv) && isa.has(OpCode::or_) && isa.has(OpCode::and_);
  const bool widens = !is_float(positions)                     ? has_codes(isa)
                      : positions.element == ElementType::bf16 ? isa.has(OpCode::cvt_bf16_f32)
                                                               : true;
  if (adds_lanes && adds_segments && stores_group && loads_masks && has_tanh && widens &&
      isa.has(OpCode::fma))
    return;
  reject(
      "attention is not possible on {}: it has no instructions that make f32 of {} and add up "
      "lanes",
      isa.name, positions.name);
}

const char* stage_name(Stage stage) {
  switch (stage) {
    case Stage::scores:
      return "scores";
    case Stage::weights:
      return "weights";
    case Stage::values:
      return "values";
    case Stage::none:
      break;
  }
  return "?";
}

[[noreturn]] void refuse(const Variant& v, const std::string& legal) {
  reject("tile {}x{} does not fit {} of attention on {}: {}", to_string(v.tile.m),
         to_string(v.tile.n), stage_name(v.stage), v.isa->name, legal);
}

}  // namespace

bool has_scales_of_positions(const Format& positions) {
  return positions.name == "qai8dx";
}

LayoutPair attention_layouts(const Family& family, const Isa& isa) {
  check_attention_formats(family);
  check_isa(isa, *family.rhs);
  Layout queries;
  queries.side = Side::lhs;
  queries.element = family.lhs->element;
  queries.order.kr = 1;
  queries.k_multiple = 1;
  queries.fields = {{FieldKind::data, queries.element, 1, 1, true}};
  Layout positions = queries;
  positions.side = Side::rhs;
  positions.element = family.rhs->element;
  positions.fields.front().type = positions.element;
  if (family.rhs->block != 0) {
    positions.block = positions.k_multiple = family.rhs->block;
    if (bits(positions.element) == 4) {  // as ggml's blocks have them
      positions.order.pair = NibblePair::depth;
      positions.order.distance = family.rhs->block / 2;
      positions.order.low_unsigned = positions.order.high_unsigned = true;
    }
    const Field scales = {FieldKind::scales, family.rhs->scale_type, 1, 1, true};
    positions.fields.insert(positions.fields.begin(), scales);
  }
  return {queries, positions};
}

void check_attention_tile(const Variant& v) {
  const int64_t lanes = v.isa->vector_bytes.fixed / 4;
  const int64_t m = v.tile.m.fixed;
  const int64_t n = v.tile.n.fixed;
  if (!v.tile.m.is_fixed() || !v.tile.n.is_fixed()) refuse(v, "fixed numbers do");
  if (v.stage == Stage::weights) {
    if (m == 1 && n == lanes) return;
    refuse(v, fmt::format("1x{} does", lanes));
  }
  if (!std::has_single_bit(static_cast<uint64_t>(m))) refuse(v, "rows by powers of two do");
  if (v.stage == Stage::values) {
    const int64_t block = v.rhs.block;
    const bool splits_none = block == 0 || n % block == 0 || block % n == 0;
    if (n % lanes == 0 && splits_none) return;
    const std::string blocks =
        block == 0 ? "" : fmt::format(", that divide {} or are multiples of it", block);
    refuse(v, fmt::format("whole vectors, multiples of {} columns{}, do", lanes, blocks));
  }
  if (n % lanes == 0 || n == group) return;
  refuse(v, fmt::format("{} positions, or multiples of {}, do", group, lanes));
}

std::string attention_name(const Variant& v) {
  const Family& family = v.family;
  return fmt::format("attention_{}_{}_{}_{}_{}x{}_{}", stage_name(v.stage), output_name(family.dst),
                     family.lhs->name, family.rhs->name, to_string(v.tile.m), to_string(v.tile.n),
                     v.isa->name);
}

}  // namespace tw
