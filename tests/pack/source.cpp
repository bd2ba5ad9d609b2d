#include "pack/source.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <iterator>
#include <limits>

#include "reference/ggml_blocks.h"
#include "reference/quantize_reference.h"
#include "reference/source_reference.h"

namespace tw::test {
namespace {

bool is(const tw_packer& packer, const char* source) {
  return std::strcmp(packer.source, source) == 0;
}

/// Four bytes a number: under an emulator numbers take longer than packers.
void fill_random(std::vector<uint8_t>& bytes, std::mt19937& random) {
  for (size_t i = 0; i < bytes.size(); i += 4) {
    const auto bits = static_cast<uint32_t>(random());
    std::memcpy(&bytes[i], &bits, std::min<size_t>(4, bytes.size() - i));
  }
}

float random_float(std::mt19937& random) {
  return std::uniform_real_distribution<float>(-3, 3)(random);
}

/// What a float can be besides ordinary.
float unusual_float(std::mt19937& random) {
  const float largest = std::numeric_limits<float>::max();
  const float list[] = {NAN,    -NAN,      INFINITY, -INFINITY, largest, -largest,
                        1e-45F, -1.1e-38F, 3e-37F,   -0.0F,     1e38F,   -1e38F};
  return list[random() % std::size(list)];
}

/// Rows of floats of that type, some of them all positive, all negative, all zero, tiny, with many
/// ties (values half as far apart as the codes), or with a few values that are infinite, huge or no
/// numbers.
OperandCodes make_floats(const PackCase& c, const LayoutText& layout, const std::string& type,
                         std::mt19937& random, Source& source) {
  const Ties ties = layout.ties_away ? Ties::away : Ties::even;
  const bool by_blocks = scales_of(layout).per_block;
  const bool half = type == "f16";  // with fewer exponents
  source.stride = c.k * bytes_of_float(type) + c.extra_stride;
  source.bytes.resize((c.rows - 1) * source.stride + c.k * bytes_of_float(type));
  OperandCodes codes{c.rows, c.k, {}, {}, {}, {}};
  std::vector<float> row(c.k);
  for (size_t r = 0; r < c.rows; ++r) {
    const auto kind = random() % 10;
    const float size = std::ldexp(1.0F, static_cast<int>(random() % (half ? 28 : 40)) - 20);
    for (float& x : row) {
      x = random_float(random) * size;
      if (kind == 0) x = std::abs(x);
      if (kind == 1) x = -std::abs(x);
      if (kind == 2) x = 0;
      if (kind == 3)
        x = std::ldexp(x / size, (half ? -24 : -149) + static_cast<int>(random() % 24));
      if (kind == 4) x = random_float(random) * (half ? 2.1e4F : 1.1e38F);
      if (kind == 5) x = (static_cast<float>(random() % 511) / 2 - 100) * size;
    }
    if (kind == 5) {
      row.front() = -100 * size;
      row.back() = 155 * size;
    }
    for (auto few = kind >= 8 ? random() % 3 : 0; few > 0; --few) {
      row[random() % c.k] = unusual_float(random);
    }
    for (size_t i = 0; i < c.k; ++i) {
      row[i] = rounded_to(type, row[i]);
      const uint32_t bits = float_bits(type, row[i]);
      const size_t at = r * source.stride + i * bytes_of_float(type);
      std::memcpy(source.bytes.data() + at, &bits, bytes_of_float(type));
    }
    const auto add = [&](const QuantizedRow& quantized) {
      codes.codes.insert(codes.codes.end(), quantized.codes.begin(), quantized.codes.end());
      codes.zero_points.push_back(quantized.zero_point);
      codes.scales.push_back(quantized.scale);
    };
    if (!by_blocks) add(quantize_row_qai8dx(row.data(), c.k, ties));
    for (size_t k = 0; by_blocks && k < c.k; k += layout.block) {
      add(quantize_block_qsi8d32(row.data() + k, layout.block,
                                 {ties, scales_of(layout).type == "f16"}));
    }
  }
  return codes;
}

void add_scales(const PackCase& c, const LayoutText& layout, std::mt19937& random, Source& source,
                OperandCodes& codes) {
  const std::string type = scales_of(layout).type;
  const size_t count = layout.block == 0 ? 1 : c.k / layout.block;
  source.scale_stride = count * bytes_of_float(type) + (layout.block == 0 || c.with_bias ? 0 : 6);
  source.scales.resize((c.rows - 1) * source.scale_stride + count * bytes_of_float(type));
  for (size_t r = 0; r < c.rows; ++r) {
    for (size_t i = 0; i < count; ++i) {
      codes.scales.push_back(rounded_to(type, random_float(random)));
      const uint32_t bits = float_bits(type, codes.scales.back());
      const size_t at = r * source.scale_stride + i * bytes_of_float(type);
      std::memcpy(source.scales.data() + at, &bits, bytes_of_float(type));
    }
    source.bias.push_back(random_float(random));
  }
  codes.bias = c.with_bias ? source.bias : std::vector<float>(c.rows, 0.0F);
}

/// Rows of ggml's blocks of 32.
OperandCodes make_ggml(const PackCase& c, const LayoutText& layout, const GgmlType& type,
                       std::mt19937& random, Source& source) {
  OperandCodes codes{c.rows, c.k, {}, {}, {}, {}};
  add_scales(c, layout, random, source, codes);
  source.scales.clear();
  const size_t blocks = c.k / type.values;
  source.stride = blocks * type.bytes + c.extra_stride;
  source.bytes.resize((c.rows - 1) * source.stride + blocks * type.bytes);
  fill_random(source.bytes, random);
  for (size_t r = 0; r < c.rows; ++r) {
    for (size_t b = 0; b < blocks; ++b) {
      const GgmlBlock block(type, source.bytes.data() + r * source.stride + b * type.bytes);
      for (size_t i = 0; i < type.floats(); ++i) {
        float& scale = codes.scales[(r * blocks + b) * type.floats() + i];
        scale = rounded_to(type.scale_type, scale);
        const uint32_t bits = block.kept_scale(float_bits(type.scale_type, scale));
        std::memcpy(block.d_at(i), &bits, block.d_bytes());
      }
      if (type.minimums) {
        block.m_at()[1] &= 0xbf;  // a finite minimum
        codes.minimums.push_back(half_at(block.m_at()));
      }
      for (size_t k = 0; k < type.values; ++k) {
        codes.codes.push_back(static_cast<int8_t>(block.code(k)));
      }
    }
  }
  return codes;
}

/// Rows of ggml's super-blocks, with steps that are numbers.
OperandCodes make_super_blocks(const PackCase& c, const GgmlType& type, std::mt19937& random,
                               Source& source) {
  OperandCodes codes{c.rows, c.k, {}, {}, {}, {}};
  source.stride = c.k / type.values * type.bytes + c.extra_stride;
  source.bytes.resize((c.rows - 1) * source.stride + c.k / type.values * type.bytes);
  fill_random(source.bytes, random);
  for (size_t r = 0; r < c.rows; ++r) {
    for (size_t i = 0; i < c.k / type.values; ++i) {
      const GgmlBlock block(type, source.bytes.data() + r * source.stride + i * type.bytes);
      block.d_at()[1] &= 0xbf;
      codes.numbers.scale_steps.push_back(half_at(block.d_at()));
      if (type.minimums) {
        block.m_at()[1] &= 0xbf;
        codes.numbers.minimum_steps.push_back(half_at(block.m_at()));
      }
      for (size_t p = 0; p < type.values / type.span; ++p) {
        codes.numbers.scales.push_back(block.scale(p));
        if (type.minimums) codes.numbers.minimums.push_back(block.minimum(p));
      }
      for (size_t k = 0; k < type.values; ++k) {
        codes.codes.push_back(static_cast<int8_t>(block.code(k)));
      }
    }
    source.bias.push_back(random_float(random));
  }
  codes.bias = c.with_bias ? source.bias : std::vector<float>(c.rows, 0.0F);
  return codes;
}

/// Those of MatMulNBits: bytes of unsigned codes.
void add_zero_codes(const PackCase& c, const LayoutText& layout, std::mt19937& random,
                    Source& source, OperandCodes& codes) {
  codes.real_zeros.assign(codes.scales.size(), 0.0F);
  if (!c.with_bias) return;
  const size_t per_byte = 8 / layout.bits, blocks = c.k / layout.block;
  const size_t row_bytes = (blocks + per_byte - 1) / per_byte;
  source.zeros.resize(c.rows * row_bytes);
  fill_random(source.zeros, random);
  const int half = 1 << (layout.bits - 1);
  for (size_t i = 0; i < codes.real_zeros.size(); ++i) {
    const size_t block = i % blocks;
    const uint8_t byte = source.zeros[i / blocks * row_bytes + block / per_byte];
    const int code = byte >> (block % per_byte * layout.bits) & (2 * half - 1);
    codes.real_zeros[i] = static_cast<float>(code - half);
  }
}

/// Zero points of columns, where the layout keeps them; without a bias, none are given.
void add_zero_points(const PackCase& c, const LayoutText& layout, std::mt19937& random,
                     Source& source, OperandCodes& codes) {
  for (const FieldText& field : layout.fields) {
    if (field.kind != "zeros" && field.kind != "offsets") continue;
    codes.real_zeros.assign(codes.scales.size(), 0.0F);
    if (!c.with_bias) continue;
    source.zeros.resize(source.scales.size());
    const size_t count = codes.scales.size() / c.rows;
    for (size_t i = 0; i < codes.real_zeros.size(); ++i) {
      codes.real_zeros[i] = rounded_to(field.type, random_float(random));
      const uint32_t bits = float_bits(field.type, codes.real_zeros[i]);
      const size_t bytes = bytes_of_float(field.type);
      const size_t at = i / count * source.scale_stride + i % count * bytes;
      std::memcpy(source.zeros.data() + at, &bits, bytes);
    }
  }
}

/// Codes that share bytes, where what fills up a row's last byte is anything, or bytes.
OperandCodes make_weights(const tw_packer& packer, const PackCase& c, const LayoutText& layout,
                          std::mt19937& random, Source& source) {
  const bool kxn = is(packer, "kxn"), nbits = is(packer, "nbits");
  const size_t bits = layout.bits;
  const size_t per_byte = 8 / bits;
  const size_t outer = kxn ? c.k : c.rows;
  const size_t row_bytes = ((kxn ? c.rows : c.k) + per_byte - 1) / per_byte;
  source.stride = row_bytes + c.extra_stride;
  source.bytes.resize((outer - 1) * source.stride + row_bytes);
  fill_random(source.bytes, random);
  OperandCodes codes{c.rows, c.k, {}, {}, {}, {}};
  codes.by_pairs = kxn && bits == 4;
  for (size_t r = 0; r < c.rows + (codes.by_pairs ? c.rows % 2 : 0); ++r) {
    for (size_t k = 0; k < c.k; ++k) {
      const size_t i = kxn ? k : r;
      const size_t j = kxn ? r : k;
      const uint8_t byte = source.bytes[i * source.stride + j / per_byte];
      const int half = 1 << (bits - 1);
      const int given = byte >> (j % per_byte * bits) & (2 * half - 1);
      const bool is_unsigned = nbits || (bits == 4 && c.unsigned_nibbles);
      const int code = is_unsigned ? given - half : (given ^ half) - half;
      codes.codes.push_back(static_cast<int8_t>(code));
    }
  }
  add_scales(c, layout, random, source, codes);
  if (nbits) {
    add_zero_codes(c, layout, random, source, codes);
  } else {
    add_zero_points(c, layout, random, source, codes);
  }
  return codes;
}

/// What codes of activations mean, and what weights for static ones are told.
constexpr float lhs_scale = 0.3F;
int32_t lhs_zero_point(const PackCase& c) {
  return static_cast<int32_t>(c.seed % 256) - 128;
}

/// Rows of codes, which all mean the same.
OperandCodes make_rows(const PackCase& c, std::mt19937& random, Source& source) {
  source.stride = c.k + c.extra_stride;
  source.bytes.resize((c.rows - 1) * source.stride + c.k);
  fill_random(source.bytes, random);
  OperandCodes codes{c.rows, c.k, {}, {}, {}, {}};
  codes.zero_points.assign(c.rows, lhs_zero_point(c));
  codes.scales.assign(c.rows, lhs_scale);
  for (size_t i = 0; i < c.rows * c.k; ++i) {
    codes.codes.push_back(static_cast<int8_t>(source.bytes[i / c.k * source.stride + i % c.k]));
  }
  return codes;
}

/// Values of `size` bytes of any bits, and biases.
OperandCodes make_values(const PackCase& c, bool kxn, size_t size, std::mt19937& random,
                         Source& source) {
  const size_t outer = kxn ? c.k : c.rows;
  const size_t row_bytes = (kxn ? c.rows : c.k) * size;
  source.stride = row_bytes + c.extra_stride;
  source.bytes.resize((outer - 1) * source.stride + row_bytes);
  fill_random(source.bytes, random);
  OperandCodes values{c.rows, c.k, {}, {}, {}, {}};
  for (size_t r = 0; r < c.rows; ++r) {
    for (size_t k = 0; k < c.k; ++k) {
      const size_t at = kxn ? k * source.stride + r * size : r * source.stride + k * size;
      uint32_t bits = 0;
      std::memcpy(&bits, source.bytes.data() + at, size);
      values.floats.push_back(bits);
    }
    source.bias.push_back(random_float(random));
  }
  values.bias = c.with_bias ? source.bias : std::vector<float>(c.rows, 0.0F);
  return values;
}

/// Values that become floats of the layout's type, finite except where all their bits are kept.
OperandCodes make_converted(const PackCase& c, const LayoutText& layout,
                            const SourceReference& from, std::mt19937& random, Source& source) {
  const size_t row_bytes = (c.k + from.block - 1) / from.block * from.block_bytes;
  const bool any = from.value == bf16_value && layout.bits == 32;
  source.stride = row_bytes + c.extra_stride;
  source.bytes.resize((c.rows - 1) * source.stride + row_bytes);
  fill_random(source.bytes, random);
  OperandCodes values{c.rows, c.k, {}, {}, {}, {}};
  for (size_t r = 0; r < c.rows; ++r) {
    uint8_t* row = source.bytes.data() + r * source.stride;
    for (size_t i = 1; !any && i < row_bytes; i += 2) row[i] &= 0xbf;
    for (size_t k = 0; k < c.k; ++k) {
      values.floats.push_back(output_bits(layout.type, from.value(row, k)));
    }
    source.bias.push_back(random_float(random));
  }
  values.bias = c.with_bias ? source.bias : std::vector<float>(c.rows, 0.0F);
  return values;
}

}  // namespace

bool is_lhs(const tw_packer& packer) {
  return std::strcmp(packer.operand, "lhs") == 0;
}

OperandCodes make_source(const tw_packer& packer, const PackCase& c, const LayoutText& layout,
                         std::mt19937& random, Source& source) {
  const bool kxn = is(packer, "kxn");
  if (is(packer, "s8")) return make_rows(c, random, source);
  if (is_lhs(packer) && !layout.floats) {
    return make_floats(c, layout, packer.source, random, source);
  }
  const SourceReference* from = find_source_reference(packer.source);
  const bool converts = from != nullptr && packer.source != layout.type;
  if (layout.floats && converts) return make_converted(c, layout, *from, random, source);
  if (layout.floats) return make_values(c, kxn, layout.bits / 8, random, source);
  const GgmlType* blocks = find_ggml(packer.source);
  if (blocks != nullptr && blocks->steps()) return make_super_blocks(c, *blocks, random, source);
  if (blocks != nullptr) return make_ggml(c, layout, *blocks, random, source);
  return make_weights(packer, c, layout, random, source);
}

StaticMatmul static_numbers(const PackCase& c, const Source& source, const OperandCodes& codes) {
  StaticMatmul in;
  in.n = c.rows;
  in.k = c.k;
  in.lhs_zero_point = lhs_zero_point(c);
  in.lhs_scale = lhs_scale;
  in.dst_scale = 7;
  in.rhs = codes.codes;
  in.scales = codes.scales;
  for (const float bias : source.bias) {
    in.bias.push_back(c.with_bias ? std::bit_cast<int32_t>(bias) : 0);
  }
  return in;
}

void fold(const StaticMatmul& in, OperandCodes& codes) {
  for (size_t column = 0; column < in.n; ++column) {
    codes.sums.push_back(folded_bias(in, column));
    codes.scales[column] = folded_scale(in, column);
  }
}

bool is_static(const LayoutText& layout) {
  return std::any_of(layout.fields.begin(), layout.fields.end(), [](const FieldText& field) {
    return field.kind == "bias" && field.type == "i32";
  });
}

}  // namespace tw::test
