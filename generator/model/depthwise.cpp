#include "model/depthwise.h"

#include <fmt/format.h>

#include "model/reject.h"

namespace tw {
namespace {

void check_depthwise_formats(const Family& family) {
  const Format& lhs = *family.lhs;
  const Format& rhs = *family.rhs;
  const bool floats = is_float(lhs) && lhs.element != ElementType::bf16 &&
                      lhs.element == rhs.element && is_float(rhs) && family.dst == lhs.element;
  const bool codes = is_static(lhs) && rhs.element == ElementType::i8 &&
                     rhs.scales == Granularity::channel && family.dst == ElementType::i8;
  if (floats || codes) return;
  reject(
      "no depthwise convolution of {} by {} makes {}: of f32 by f32 to f32, of f16 by f16 to f16, "
      "and of qai8 by qsi8cx to qai8 there are",
      lhs.name, rhs.name, output_name(family.dst));
}

/// Run times know no weights as wide as vectors; programs that pack as KleidiAI does know them.
void check_length(const Family& family, const Isa& isa, LayoutStyle style) {
  if (isa.vector_bytes.is_fixed()) return;
  if (style == LayoutStyle::own) {
    reject("depthwise convolutions want vectors of a fixed length");
  }
  const int bits = tw::bits(family.dst);
  const Length bytes = (isa.vector_bytes * bits).divided(32);
  if (isa.has(OpCode::load_pred, bits, bytes) && isa.has(OpCode::store_pred, bits, bytes)) return;
  reject(
      "depthwise convolutions of {} want loads and stores of some of a vector's channels, which {} "
      "does not have",
      family.lhs->name, isa.name);
}

/// Pixels are loaded a vector of channels at a time and widened to 32 bits.
void check_isa(const Family& family, const Isa& isa) {
  const ElementType type = family.lhs->element;
  const Length bytes = (isa.vector_bytes * bits(type)).divided(32);
  const OpCode widens = type == ElementType::f16 ? OpCode::cvt_f16_f32 : OpCode::widen_8_32;
  const OpCode multiplies = is_float(type) ? OpCode::fma : OpCode::add;
  const bool loads = isa.has(OpCode::load, 0, bytes) && (bits(type) == 32 || isa.has(widens));
  if (loads && isa.has(multiplies, is_float(type) ? 0 : 32)) return;
  reject(
      "depthwise convolutions of {} are not possible on {}: it has no instructions that load them "
      "and make 32 bits of them",
      family.lhs->name, isa.name);
}

}  // namespace

LayoutPair depthwise_layouts(const Family& family, const Isa& isa, LayoutStyle style) {
  check_depthwise_formats(family);
  check_length(family, isa, style);
  check_isa(family, isa);
  check_output(*family.lhs, family.dst, family.accumulate, isa);
  Layout pixels;
  pixels.side = Side::lhs;
  pixels.element = family.lhs->element;
  pixels.order.kr = 1;
  pixels.k_multiple = 1;
  pixels.fields = {{FieldKind::data, pixels.element, 1, 1, true}};
  Layout weights = pixels;
  weights.side = Side::rhs;
  weights.element = family.rhs->element;
  weights.panel = isa.vector_bytes.divided(4);
  weights.fields.front().type = weights.element;
  if (style == LayoutStyle::kleidiai) {
    if (is_static(*family.lhs)) {
      reject("KleidiAI has no depthwise convolutions of codes: of floats");
    }
    weights.panel = isa.vector_bytes.divided(bits(weights.element) / 8);
    weights.fields.insert(weights.fields.begin(), {FieldKind::bias, weights.element, 1, 1, false});
    return {pixels, weights};
  }
  const Field data = weights.fields.front(),
              scales = {FieldKind::scales, ElementType::f32, 1, 1, false};
  if (is_static(*family.lhs)) {
    weights.k_multiple = 4;  // packers take codes by fours
    weights.fields = {data, {FieldKind::bias, ElementType::i32, 1, 1, false}, scales};
  } else {
    weights.fields = {data, {FieldKind::bias, ElementType::f32, 1, 1, false}};
  }
  return {pixels, weights};
}

std::string depthwise_name(const Variant& v) {
  const Family& family = v.family;
  const std::string style = v.style == LayoutStyle::own ? "" : fmt::format("_{}", name(v.style));
  return fmt::format("{}_{}_{}p{}x{}_{}x{}s{}_{}x{}_{}{}",
                     operation_name(family.dst, family.accumulate, family.operation),
                     family.lhs->name, family.rhs->name, to_string(v.rhs.panel), v.rhs.order.kr,
                     v.window.height, v.window.width, v.window.stride, to_string(v.tile.m),
                     to_string(v.tile.n), v.isa->name, style);
}

bool makes_lines(const Variant& v) {
  return v.style == LayoutStyle::kleidiai && v.isa->has(OpCode::tile_put4);
}

int64_t columns_of(const Window& window, int64_t outputs) {
  return (outputs - 1) * window.stride + window.width;
}

}  // namespace tw
