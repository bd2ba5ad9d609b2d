#include "interpreter/pack_codes.h"

#include <algorithm>
#include <bit>
#include <string>

#include "interpreter/random_variant.h"
#include "reference/half_reference.h"
#include "reference/pack_reference.h"

namespace tw::test {

StaticMatmul as_static(const Codes& codes) {
  StaticMatmul in{codes.m, codes.n, codes.k, codes.lhs, 0, 0.75F, codes.rhs, codes.rhs_scales, {}};
  if (!codes.zero_points.empty()) in.lhs_zero_point = codes.zero_points.front();
  for (const float bias : codes.bias) in.bias.push_back(static_cast<int32_t>(bias));
  in.dst_scale = 24;
  in.dst_zero_point = codes.dst_zero_point;
  in.min = static_cast<int>(std::max(codes.min, -128.0F));
  in.max = static_cast<int>(std::min(codes.max, 127.0F));
  return in;
}

SumsMatmul as_sums(const Codes& codes) {
  SumsMatmul in{codes.m, codes.n, codes.k, codes.lhs, codes.zero_points, codes.rhs, {}, {}};
  for (const float zero : codes.rhs_zeros) in.rhs_zero_points.push_back(static_cast<int>(zero));
  for (const float bias : codes.bias) in.bias.push_back(std::bit_cast<int32_t>(bias));
  return in;
}

std::vector<uint8_t> pack(const Layout& layout, const Codes& codes, VectorLength vl) {
  const auto vectors = static_cast<size_t>(layout.panel.svl != 0 ? vl.svl : vl.vl);
  OperandCodes in{codes.n, codes.k, codes.rhs, {}, codes.rhs_scales, codes.bias};
  if (layout.side == Side::lhs) {
    in = {codes.m, codes.k, codes.lhs, codes.zero_points, codes.lhs_scales, {}};
  }
  if (const CodeValues* table = values_of(layout)) {
    in.values = in.codes;
    const int count = 1 << (bits(layout.element) + top_bits(layout));
    const bool are_values = bits(layout.element) == 8;  // what a decoder makes of codes
    for (size_t i = 0; i < in.codes.size() && !are_values; ++i) {
      in.codes[i] = static_cast<int8_t>(table->code_of(in.values[i], i) % count - count / 2);
    }
    for (float& scale : in.scales) scale /= table->unit;
  }
  in.real_zeros = codes.rhs_zeros;
  in.minimums = codes.rhs_minimums;
  in.numbers = codes.numbers;
  const bool is_static = layout.side == Side::rhs && summed_field(layout) != nullptr &&
                         field_index(layout, FieldKind::sums) < 0;
  const StaticMatmul whole = is_static ? as_static(codes) : StaticMatmul{};
  for (size_t column = 0; is_static && column < codes.n; ++column) {
    in.sums.push_back(folded_bias(whole, column));
    in.scales[column] = folded_scale(whole, column);
  }
  const std::string type(name(layout.element));
  for (size_t i = 0; is_byte_float(layout.element) && i < in.codes.size(); ++i) {
    in.codes[i] = byte_float_code(type, in.codes[i]);
  }
  for (size_t i = 0; is_float(layout.element) && i < in.codes.size(); ++i) {
    in.floats.push_back(float_bits(type, in.codes[i]));
  }
  return pack(read_layout(canonical(layout), vectors), in);
}

}  // namespace tw::test
