#include "model/variant.h"

#include <fmt/format.h>

#include <algorithm>
#include <stdexcept>

namespace tw {

std::string_view name(Technique technique) {
  switch (technique) {
    case Technique::dot:
      return "dot";
    case Technique::mmla:
      return "mmla";
    case Technique::fma:
      return "fma";
    case Technique::outer:
      return "outer";
    case Technique::tile:
      return "tile";
  }
  return "?";
}

std::string_view name(Prefetch prefetch) {
  switch (prefetch) {
    case Prefetch::none:
      return "none";
    case Prefetch::near:
      return "near";
    case Prefetch::far:
      return "far";
  }
  return "?";
}

std::string_view name(LayoutStyle style) {
  switch (style) {
    case LayoutStyle::own:
      return "own";
    case LayoutStyle::kleidiai:
      return "kleidiai";
  }
  return "?";
}

void check_output(ElementType dst, bool accumulate, const Isa& isa) {
  if (dst == ElementType::f32) return;
  const bool half = dst == ElementType::f16;
  if (!isa.has(half ? OpCode::cvt_f32_f16 : OpCode::high_half)) {
    throw std::invalid_argument(
        fmt::format("dst {} is not possible on {}: it has no instruction that makes it of f32",
                    tw::name(dst), isa.name));
  }
  if (!accumulate) return;
  const Length bytes = isa.vector_bytes.divided(2);
  const bool loads = isa.has(OpCode::load, 0, bytes) && (isa.has(OpCode::load_pred, 16, bytes) ||
                                                         isa.has(OpCode::load_dup, 16, bytes));
  if (loads && isa.has(half ? OpCode::cvt_f16_f32 : OpCode::cvt_bf16_f32)) return;
  throw std::invalid_argument(fmt::format(
      "accumulate is not possible with dst {} on {}: it has no instructions that make f32 of that",
      tw::name(dst), isa.name));
}

std::string Variant::name() const {
  std::string packed;
  if (!is_unpacked(lhs)) {
    packed = fmt::format("p{}x{}", to_string(lhs.panel), lhs.order.kr);
  }
  std::string text =
      fmt::format("{}_{}{}_{}p{}x{}_{}x{}_{}", operation_name(family.dst, family.accumulate),
                  family.lhs->name, packed, family.rhs->name, to_string(rhs.panel), rhs.order.kr,
                  to_string(tile.m), to_string(tile.n), isa->name);
  // The table says what its kernels' names leave out, so that a row more renames none of them.
  const bool floats = is_float(*family.rhs);
  const bool usual_for_all = !floats || isa->usual_technique == Technique::outer;
  const Technique usual = usual_for_all ? isa->usual_technique : Technique::fma;
  if (technique != usual) text += fmt::format("_{}", tw::name(technique));
  if (style != LayoutStyle::own) text += fmt::format("_{}", tw::name(style));
  text += block_suffix(rhs, *family.rhs);
  const Knobs defaults;
  if (rhs.block == 0 && knobs.unroll_k != defaults.unroll_k)
    text += fmt::format("_u{}", knobs.unroll_k);
  if (knobs.accumulators != defaults.accumulators) text += fmt::format("_a{}", knobs.accumulators);
  if (knobs.prefetch != defaults.prefetch) {
    text += fmt::format("_{}", tw::name(knobs.prefetch));
  }
  if (knobs.paired_loads) text += "_pairs";
  if (!knobs.core.empty()) text += "_" + knobs.core;
  std::replace(text.begin(), text.end(), '-', '_');  // of cores: it is also the name of a function
  return text;
}

}  // namespace tw
