#include "interpreter/pack_codes.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace tw::test {
namespace {

/// One side of the multiplication, rows of k codes.
struct Operand {
  size_t rows = 0, k = 0, blocks = 0;
  size_t scales_in_row = 1;
  const std::vector<int8_t>* codes = nullptr;
  const std::vector<float>* scales = nullptr;
  const std::vector<int32_t>* zero_points = nullptr;
  const std::vector<float>* bias = nullptr;
};

Operand operand(Side side, const Codes& codes) {
  if (side == Side::lhs) {
    return {codes.m,    codes.k,           codes.blocks(),     codes.lhs_blocks(),
            &codes.lhs, &codes.lhs_scales, &codes.zero_points, nullptr};
  }
  return {codes.n,    codes.k,           codes.blocks(), codes.blocks(),
          &codes.rhs, &codes.rhs_scales, nullptr,        &codes.bias};
}

/// Bits of a value that a normal f16 holds exactly.
uint16_t f16_bits(float value) {
  int exponent = 0;
  const float fraction = std::frexp(std::fabs(value), &exponent);  // 0.5 <= fraction < 1
  if (value == 0) return 0;
  const auto mantissa = static_cast<uint16_t>(std::ldexp(fraction, 11));
  const auto bits = static_cast<uint16_t>(((exponent + 13) << 10) + mantissa);
  return static_cast<uint16_t>(bits | (value < 0 ? 0x8000 : 0));
}

template <typename T>
void put(std::vector<uint8_t>& bytes, int64_t at, T value) {
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

void put_value(std::vector<uint8_t>& bytes, int64_t at, ElementType type, double value) {
  switch (type) {
    case ElementType::i16:
      return put(bytes, at, static_cast<int16_t>(value));
    case ElementType::i32:
      return put(bytes, at, static_cast<int32_t>(value));
    case ElementType::f32:
      return put(bytes, at, static_cast<float>(value));
    case ElementType::f16:
      return put(bytes, at, f16_bits(static_cast<float>(value)));
    case ElementType::bf16: {
      const auto real = static_cast<float>(value);
      return put(bytes, at, static_cast<uint16_t>(std::bit_cast<uint32_t>(real) >> 16));
    }
    default:
      throw std::logic_error("no such field");
  }
}

int32_t code_sum(const Operand& in, size_t row, size_t block) {
  const size_t length = in.k / in.blocks;
  int32_t sum = 0;
  for (size_t i = block * length; i < (block + 1) * length; ++i) sum += (*in.codes)[row * in.k + i];
  return sum;
}

/// Sums of blocks, each times its scale.
float scaled_sum(const Operand& in, size_t row) {
  float sum = 0;
  for (size_t block = 0; block < in.blocks; ++block) {
    sum = std::fma(static_cast<float>(code_sum(in, row, block)),
                   (*in.scales)[row * in.blocks + block], sum);
  }
  return sum;
}

double value(const Operand& in, Edge edge, const Field& field, size_t row, size_t block) {
  if (row >= in.rows && edge == Edge::zeros) return 0;
  if (row >= in.rows) row = in.rows - 1;
  switch (field.kind) {
    case FieldKind::sums:
      if (field.type == ElementType::f32) return scaled_sum(in, row);
      return field.base + field.factor * code_sum(in, row, block);
    case FieldKind::zero_points:
      return -(*in.zero_points)[row];
    case FieldKind::scales:
      return (*in.scales)[row * in.scales_in_row + block % in.scales_in_row] /
             static_cast<float>(field.factor);
    default:
      return (*in.bias)[row];
  }
}

/// The code at (row, k) of the padded operand.
int code_of(const Layout& layout, const Operand& in, size_t row, size_t k) {
  if (layout.edge == Edge::last) {
    row = std::min(row, in.rows - 1);
    if (layout.side == Side::lhs) k = std::min(k, in.k - 1);
  }
  return row < in.rows && k < in.k ? (*in.codes)[row * in.k + k] : 0;
}

/// Places of a panel's codes. Each digit of an address counts steps of the row or of k alone, so a
/// place is the sum of what either says.
class Places {
 public:
  Places(const Layout& layout, int64_t k_total, VectorLength vl)
      : first_(code_place(layout, k_total, 0, 0, vl)) {
    for (int64_t row = 0; row < layout.panel.at(vl); ++row) {
      of_row_.push_back(code_place(layout, k_total, row, 0, vl));
    }
    for (int64_t k = 0; k < padded_k(layout, k_total); ++k) {
      of_k_.push_back(code_place(layout, k_total, 0, k, vl));
    }
  }

  CodePlace at(int64_t row, int64_t k) const {
    const CodePlace& a = of_row_[static_cast<size_t>(row)];
    const CodePlace& b = of_k_[static_cast<size_t>(k)];
    const int64_t bit = 8 * (a.byte + b.byte - first_.byte) + a.shift + b.shift - first_.shift;
    return {bit / 8, static_cast<int>(bit % 8), a.offset + b.offset - first_.offset};
  }

 private:
  CodePlace first_;
  std::vector<CodePlace> of_row_, of_k_;
};

void put_codes(const Layout& layout, const Operand& in, VectorLength vl, const Places& places,
               int64_t panel, std::vector<uint8_t>& bytes) {
  const int64_t rows = layout.panel.at(vl);
  const auto k = static_cast<int64_t>(in.k);
  const int64_t base = panel * panel_bytes(layout, k).at(vl);
  const int64_t padded = padded_k(layout, k);
  for (int64_t row = 0; row < rows; ++row) {
    const auto global = static_cast<size_t>(panel * rows + row);
    for (int64_t i = 0; i < padded; ++i) {
      int code = code_of(layout, in, global, static_cast<size_t>(i));
      const CodePlace place = places.at(row, i);
      code += place.offset;
      if (bits(layout.element) >= 16) {
        put_value(bytes, base + place.byte, layout.element, code);
        continue;
      }
      uint8_t& byte = bytes[static_cast<size_t>(base + place.byte)];
      const int mask = bits(layout.element) == 4 ? 15 : 255;
      byte = static_cast<uint8_t>(byte | (code & mask) << place.shift);
    }
  }
}

void put_field(const Layout& layout, const Operand& in, VectorLength vl, int64_t panel,
               size_t index, std::vector<uint8_t>& bytes) {
  const Field& field = layout.fields[index];
  const auto k = static_cast<int64_t>(in.k);
  const int64_t rows = layout.panel.at(vl);
  const size_t blocks = field.per_block ? in.blocks : 1;
  for (size_t block = 0; block < blocks; ++block) {
    int64_t at = panel * panel_bytes(layout, k).at(vl) +
                 field_offset(layout, index, k, static_cast<int64_t>(block)).at(vl);
    for (int64_t row = 0; row < rows; ++row) {
      for (int copy = 0; copy < field.repeat; ++copy, at += bits(field.type) / 8) {
        put_value(bytes, at, field.type,
                  value(in, layout.edge, field, static_cast<size_t>(panel * rows + row), block));
      }
    }
  }
}

}  // namespace

std::vector<uint8_t> pack(const Layout& layout, const Codes& codes, VectorLength vl) {
  const Operand in = operand(layout.side, codes);
  const int64_t rows = layout.panel.at(vl);
  const int64_t panels = (static_cast<int64_t>(in.rows) + rows - 1) / rows;
  const int64_t stride = panel_bytes(layout, static_cast<int64_t>(in.k)).at(vl);
  std::vector<uint8_t> bytes(static_cast<size_t>(panels * stride), 0);
  const Places places(layout, static_cast<int64_t>(in.k), vl);
  for (int64_t panel = 0; panel < panels; ++panel) {
    put_codes(layout, in, vl, places, panel, bytes);
    for (size_t index = 0; index < layout.fields.size(); ++index) {
      if (layout.fields[index].kind != FieldKind::data) {
        put_field(layout, in, vl, panel, index, bytes);
      }
    }
  }
  return bytes;
}

}  // namespace tw::test
