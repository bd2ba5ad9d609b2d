#include "model/variant.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/attention.h"
#include "model/depthwise.h"
#include "model/reject.h"

namespace tw {

std::string_view name(Technique technique) {
  constexpr std::string_view names[] = {"dot", "mmla", "fma", "outer", "tile"};
  return names[static_cast<size_t>(technique)];
}

std::string_view name(Prefetch prefetch) {
  constexpr std::string_view names[] = {"none", "near", "beside", "far"};
  return names[static_cast<size_t>(prefetch)];
}

std::string family_name(const Family& family) {
  if (family.operation == Operation::attention) {
    return fmt::format("attention_{}_{}_{}", output_name(family.dst), family.lhs->name,
                       family.rhs->name);
  }
  if (family.operation == Operation::decode) {
    return fmt::format("decode_{}_{}p", source_name(family.dst), family.rhs->name);
  }
  const bool depthwise = family.operation == Operation::depthwise;
  const bool packed = !depthwise && is_packed(*family.lhs, family.sums);
  return fmt::format("{}_{}{}_{}p", operation_name(family.dst, family.accumulate, family.operation),
                     family.lhs->name, packed ? "p" : "", family.rhs->name);
}

bool makes_codes(const Family& family) {
  return family.operation == Operation::decode && family.dst == ElementType::i8;
}

const Format* wider_codes(const Family& family) {
  return makes_codes(family) ? with_wide_codes(*family.rhs) : nullptr;
}

std::string_view name(LayoutStyle style) {
  return style == LayoutStyle::own ? "own" : "kleidiai";
}

/// Integers of 8 bits, by rows that round, narrow and store.
static void check_codes(const Format& lhs, bool accumulate, const Isa& isa) {
  if (!is_static(lhs)) {
    reject("dst qai8 is not possible with {}: with qai8 it is", lhs.name);
  }
  if (accumulate) reject("accumulate is not possible with dst qai8");
  const Length bytes = isa.vector_bytes.divided(4);
  const bool stores = isa.has(OpCode::store, 0, bytes) && (isa.has(OpCode::store_pred, 8, bytes) ||
                                                           isa.has(OpCode::store_lane, 8, bytes));
  if (stores && isa.has(OpCode::cvt_f32_i32) && isa.has(OpCode::narrow_32_8)) return;
  reject("dst qai8 is not possible on {}: it has no instructions that make it of f32", isa.name);
}

/// Of codes whose rows have zero points, which each call brings.
static void check_sums(const Format& lhs, bool accumulate) {
  if (lhs.scales != Granularity::row) {
    reject("dst i32 is not possible with {}: with qai8dx it is", lhs.name);
  }
  if (accumulate) reject("accumulate is not possible with dst i32");
}

void check_output(const Format& lhs, ElementType dst, bool accumulate, const Isa& isa) {
  if (dst == ElementType::i8) return check_codes(lhs, accumulate, isa);
  if (dst == ElementType::i32) return check_sums(lhs, accumulate);
  if (is_static(lhs)) {
    reject("dst {} is not possible with {}: qai8 is", tw::name(dst), lhs.name);
  }
  if (dst == ElementType::f32) return;
  const bool half = dst == ElementType::f16;
  if (!isa.has(half ? OpCode::cvt_f32_f16 : OpCode::high_half)) {
    reject("dst {} is not possible on {}: it has no instruction that makes it of f32",
           tw::name(dst), isa.name);
  }
  if (!accumulate) return;
  const Length bytes = isa.vector_bytes.divided(2);
  const bool loads = isa.has(OpCode::load, 0, bytes) && (isa.has(OpCode::load_pred, 16, bytes) ||
                                                         isa.has(OpCode::load_dup, 16, bytes));
  if (loads && isa.has(half ? OpCode::cvt_f16_f32 : OpCode::cvt_bf16_f32)) return;
  reject(
      "accumulate is not possible with dst {} on {}: it has no instructions that make f32 of that",
      tw::name(dst), isa.name);
}

namespace {

std::string text_of(const Variant& v, const std::string& blocks) {
  const Family& family = v.family;
  std::string lhs(family.lhs->name);
  if (family.operation == Operation::decode) {  // which has none
    lhs = source_name(family.dst);
  } else if (!is_unpacked(v.lhs)) {
    lhs += fmt::format("p{}x{}", to_string(v.lhs.panel), v.lhs.order.kr);
  }
  std::string text = fmt::format("{}_{}_{}p{}x{}_{}x{}_{}",
                                 operation_name(family.dst, family.accumulate, family.operation),
                                 lhs, family.rhs->name, to_string(v.rhs.panel), v.rhs.order.kr,
                                 to_string(v.tile.m), to_string(v.tile.n), v.isa->name);
  // The table says what its kernels' names leave out, so that a row more renames none of them.
  const bool floats = is_float(*family.rhs);
  const bool usual_for_all = !floats || v.isa->usual_technique == Technique::outer;
  const Technique usual = usual_for_all ? v.isa->usual_technique : Technique::fma;
  if (v.technique != usual) text += fmt::format("_{}", name(v.technique));
  if (v.style != LayoutStyle::own) text += fmt::format("_{}", name(v.style));
  if (v.rows_of != nullptr) text += fmt::format("_rows_of_{}", v.rows_of->name);
  text += bias_suffix(v.rhs);
  text += blocks;
  const Knobs& knobs = v.knobs;
  const Knobs defaults;
  const int usual_unroll = has_long_blocks(v.rhs) ? long_block_step
                           : v.rhs.block != 0     ? v.rhs.block
                                                  : defaults.unroll_k;
  if (knobs.unroll_k != usual_unroll) text += fmt::format("_u{}", knobs.unroll_k);
  if (knobs.accumulators != defaults.accumulators) text += fmt::format("_a{}", knobs.accumulators);
  if (knobs.prefetch != defaults.prefetch) text += fmt::format("_{}", name(knobs.prefetch));
  if (knobs.paired_loads) text += "_pairs";
  if (!knobs.core.empty()) text += "_" + knobs.core;
  std::replace(text.begin(), text.end(), '-', '_');  // of cores: it is also the name of a function
  return text;
}

}  // namespace

std::string Variant::name() const {
  if (window.height != 0) return depthwise_name(*this);
  if (stage != Stage::none) return attention_name(*this);
  return text_of(*this, block_suffix(rhs, *family.rhs));
}

std::string Variant::code_name() const {
  if (window.height != 0 || stage != Stage::none) return name();
  return text_of(*this, block_suffix(rhs, *family.rhs, BlockLength::any_long));
}

int64_t block_trips(const Variant& variant) {
  return has_long_blocks(variant.rhs) ? variant.rhs.block / variant.knobs.unroll_k : 0;
}

}  // namespace tw
