#include "interpreter/pack_codes.h"

#include <string>

#include "reference/pack_reference.h"

namespace tw::test {

std::vector<uint8_t> pack(const Layout& layout, const Codes& codes, VectorLength vl) {
  const auto vectors = static_cast<size_t>(layout.panel.svl != 0 ? vl.svl : vl.vl);
  OperandCodes in{codes.n, codes.k, codes.rhs, {}, codes.rhs_scales, codes.bias};
  if (layout.side == Side::lhs) {
    in = {codes.m, codes.k, codes.lhs, codes.zero_points, codes.lhs_scales, {}};
  }
  const std::string type(name(layout.element));
  for (size_t i = 0; is_float(layout.element) && i < in.codes.size(); ++i) {
    in.floats.push_back(float_bits(type, in.codes[i]));
  }
  return pack(read_layout(canonical(layout), vectors), in);
}

}  // namespace tw::test
