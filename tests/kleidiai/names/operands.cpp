#include "kleidiai/names/operands.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace tw::test {
namespace {

constexpr size_t behind = 128;  ///< bytes behind weights that packers of KleidiAI read

float between(float low, float high, std::mt19937& random) {
  return std::uniform_real_distribution<float>(low, high)(random);
}

}  // namespace

uint16_t bf16_of(float value) {
  uint32_t bits = 0;
  std::memcpy(&bits, &value, sizeof bits);
  return static_cast<uint16_t>(bits >> 16);
}

uint16_t f16_from(float value) {
  const auto half = static_cast<__fp16>(value);
  uint16_t bits = 0;
  std::memcpy(&bits, &half, sizeof bits);
  return bits;
}

float f32_from(uint16_t f16) {
  __fp16 half = 0;
  std::memcpy(&half, &f16, sizeof half);
  return static_cast<float>(half);
}

float f32_of(uint16_t bf16) {
  const uint32_t bits = uint32_t{bf16} << 16;
  float value = 0;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

WeightsKind kind_of(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const bool offsets = has("qai4c32p");
  const bool table = has("qsu2cx");
  const bool rows = (has("qsi8d32p") && !offsets) || has("s16s0") || rows_of(name).f16;
  const bool for_table = has("qsi4cxp") || has("qsi4c32p") || offsets || table;
  const bool sequential = has("ps1s0") || has("qsu2cxp4vlx4") || (has("_sme2_") && for_table);
  const bool apart = has("ps1s0scalef16") || has("ps4s0sf16") || rows_of(name).apart;
  return {
      offsets || has("qsi4c"),        has("c32p"), has("_kxn_"), sequential, rows, apart, offsets,
      offsets && !has("qau4c32s1s0"), table};
}

bool operator==(const WeightsKind& a, const WeightsKind& b) {
  return a.nibbles == b.nibbles && a.blocks == b.blocks && a.kxn == b.kxn &&
         a.sequential == b.sequential && a.rows == b.rows && a.apart == b.apart &&
         a.offsets == b.offsets && a.table == b.table;
}

RowsKind rows_of(const std::string& name) {
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  const bool f16 = has("f16pmrx2_f32") || has("f16p1vlx2_qsi4c32p");
  const bool sums = has("qai4c32p") || has("pscalef32");
  const bool apart = has("qsi8d32p_f32_neon") || (has("qsi8d32p") && has("_sme") && !sums) || f16;
  const bool even = has("4x8sb") || (sums && halves_of(name) == Halves::none);
  return {has("qsi8d32p") || f16, even ? Ties::even : Ties::away, apart, sums, f16};
}

std::vector<QuantizedRow> quantized(const float* row, size_t k, size_t bl, const RowsKind& kind) {
  if (!kind.blocks) return {quantize_row_qai8dx(row, k, kind.ties)};
  std::vector<QuantizedRow> blocks;
  for (size_t i = 0; i < k; i += bl) {
    blocks.push_back(quantize_block_qsi8d32(row + i, bl, {kind.ties, !kind.sums}));
    if (!kind.sums || blocks.back().scale == 0) continue;
    // Theirs is the inverse of what values are multiplied by.
    const float* const largest = std::max_element(
        row + i, row + i + bl, [](float a, float b) { return std::fabs(a) < std::fabs(b); });
    blocks.back().scale = 1 / (127 / std::fabs(*largest));
  }
  return blocks;
}

Floats random_floats(size_t m, size_t k, std::mt19937& random, bool dense) {
  Floats out{m, k, 4 * (k + (dense ? 0 : random() % 5)), {}, {}};
  out.values.resize(m * out.stride / 4 + 1);
  for (float& value : out.values) value = between(-3, 5, random);
  for (size_t i = 0; i < m; ++i) {
    float* const row = out.values.data() + i * out.stride / 4;
    const unsigned kind = random() % 8;
    const float scale = std::ldexp(1.0F, static_cast<int>(random() % 40) - 20);
    for (size_t j = 0; j < k; ++j) {
      if (kind == 0) row[j] = 0;
      if (kind == 1) row[j] = std::fabs(row[j]);
      if (kind == 2) row[j] = -std::fabs(row[j]);
      if (kind == 3) row[j] *= scale;
      // In blocks many of these are halfway between two codes.
      if (kind == 5) row[j] = j % 16 == 0 ? 127 : static_cast<float>(random() % 509) / 2 - 127;
    }
    if (kind == 4 && k != 0) row[random() % k] = between(-5000, 5000, random);
  }
  return out;
}

const uint8_t* Floats::source() const {
  return halves.empty() ? reinterpret_cast<const uint8_t*>(values.data())
                        : reinterpret_cast<const uint8_t*>(halves.data());
}

Halves halves_of(const std::string& name) {
  if (name.find("_f16_neon") != std::string::npos) return Halves::f16;
  return name.find("_bf16_neon") != std::string::npos ? Halves::bf16 : Halves::none;
}

void round_to(Halves type, Floats& floats) {
  if (type == Halves::none) return;
  for (float& value : floats.values) {
    value = std::clamp(value, -60000.0F, 60000.0F);  // f16 hold no more
    floats.halves.push_back(type == Halves::f16 ? f16_from(value) : bf16_of(value));
    value = type == Halves::f16 ? f32_from(floats.halves.back()) : f32_of(floats.halves.back());
  }
}

int ClientWeights::code(size_t column, size_t depth) const {
  if (kind.rows) {
    const uint8_t* const block = rows.data() + column * stride + depth / bl * (2 + bl / 2) + 2;
    const size_t in_block = depth % bl;
    return (block[in_block % (bl / 2)] >> (in_block / (bl / 2) * 4) & 15) - 8;
  }
  const size_t row = kind.kxn ? depth : column;
  const size_t at = kind.kxn ? column : depth;
  if (kind.table) {
    const int code = codes[row * stride + at / 4] >> (at % 4 * 2) & 3;
    return table.empty() ? code - 2 : table[static_cast<size_t>(code)];
  }
  if (!kind.nibbles) return static_cast<int8_t>(codes[row * stride + at]);
  const size_t half = kind.high_first ? 1 - at % 2 : at % 2;
  const int nibble = codes[row * stride + at / 2] >> (half * 4) & 15;
  return unsigned_codes ? nibble - 8 : (nibble ^ 8) - 8;
}

float ClientWeights::scale(size_t column, size_t depth) const {
  return scales[column * blocks() + (bl == 0 ? 0 : depth / bl)];
}

RhsSource ClientWeights::from(size_t column) const {
  const size_t width = kind.nibbles ? 2 : 1;
  RhsSource source;
  source.table = lookup();
  source.codes = codes.data() + (kind.kxn ? column / width : column * stride);
  source.stride = stride;
  source.bias = bias.empty() ? nullptr : bias.data() + column;
  source.scales = scales.data() + column;
  if (kind.rows) source.codes = rows.data() + column * stride;
  if (kind.offsets) {
    source.scales = scales.data() + column * blocks();
    source.offsets = offsets.data() + column * blocks();
  } else if (kind.blocks) {
    source.scales = bf16_scales.data() + column * scale_stride / 2;
  }
  source.scale_stride = scale_stride;
  source.unsigned_codes = unsigned_codes;
  return source;
}

/// Rows of blocks have no bias.
static ClientWeights random_rows(WeightsKind kind, size_t n, size_t k, size_t bl,
                                 std::mt19937& random) {
  ClientWeights out;
  out.kind = kind;
  out.n = n;
  out.k = k;
  out.bl = bl;
  out.unsigned_codes = true;
  out.stride = k / bl * (2 + bl / 2);
  out.rows.resize(n * out.stride);
  for (uint8_t& byte : out.rows) byte = static_cast<uint8_t>(random());
  for (size_t i = 0; i < n * out.blocks(); ++i) {
    // By a sixteenth, as some panels keep them, they are no denormals.
    const float size = between(0.125F, 1, random);
    const uint16_t scale = f16_from(std::ldexp(random() % 2 == 0 ? size : -size, -6));
    std::memcpy(out.rows.data() + i * (2 + bl / 2), &scale, sizeof scale);
    out.scales.push_back(f32_from(scale));
  }
  return out;
}

/// Rows without gaps, as those packers take them.
static ClientWeights random_offsets(WeightsKind kind, size_t n, size_t k, size_t bl,
                                    std::mt19937& random) {
  ClientWeights out;
  out.kind = kind;
  out.n = n;
  out.k = k;
  out.bl = bl;
  out.unsigned_codes = true;
  out.stride = k / 2;
  out.codes.resize(n * out.stride + behind);
  for (uint8_t& byte : out.codes) byte = static_cast<uint8_t>(random());
  for (size_t i = 0; i < n * out.blocks(); ++i) {
    const float size = std::ldexp(1.0F, static_cast<int>(random() % 5) - 8);
    out.scales.push_back(between(-1, 1, random) * size);
    out.offsets.push_back(between(-8, 8, random) * size);
  }
  for (size_t i = 0; i < n && random() % 8 != 0; ++i) out.bias.push_back(between(-3, 3, random));
  if (out.bias.size() < n) out.bias.clear();
  return out;
}

ClientWeights random_weights(WeightsKind kind, size_t n, size_t k, size_t bl,
                             std::mt19937& random) {
  if (kind.rows) return random_rows(kind, n, k, bl, random);
  if (kind.offsets) return random_offsets(kind, n, k, bl, random);
  ClientWeights out;
  out.kind = kind;
  out.n = n;
  out.k = k;
  out.bl = bl;
  out.unsigned_codes = kind.blocks || kind.sequential || random() % 2 == 0;
  const size_t values = kind.kxn ? n : k;
  // Without blocks a packer takes the row that its numbers make.
  out.stride = (kind.nibbles ? (values + 1) / 2 : values) + (kind.blocks ? random() % 4 : 0);
  if (kind.table) out.stride = (values + 3) / 4;
  // Theirs add up pairs as bytes.
  for (size_t i = 0, count = random() % 4 == 0 ? 0 : 4; kind.table && i < count; ++i) {
    out.table.push_back(static_cast<int32_t>(random() % 128) - 64);
  }
  out.codes.resize((kind.kxn ? k : n) * out.stride + behind);
  for (uint8_t& byte : out.codes) byte = static_cast<uint8_t>(random());
  out.scale_stride = kind.blocks ? 2 * (out.blocks() + random() % 3) : 0;
  out.bf16_scales.resize(n * out.scale_stride / 2);
  for (size_t i = 0; i < n * out.blocks(); ++i) {
    const float size = std::ldexp(1.0F, static_cast<int>(random() % 5) - 8);
    const uint16_t rounded = bf16_of(between(-1, 1, random) * size);
    out.scales.push_back(kind.blocks ? f32_of(rounded) : between(-0.02F, 0.02F, random));
    if (kind.blocks) {
      out.bf16_scales[i / out.blocks() * out.scale_stride / 2 + i % out.blocks()] = rounded;
    }
  }
  if (random() % 4 == 0) return out;
  for (size_t i = 0; i < n; ++i) out.bias.push_back(between(-3, 3, random));
  return out;
}

ExactOutput exact_output(const std::vector<QuantizedRow>& rows, const ClientWeights& weights,
                         size_t column) {
  const size_t length = weights.bl == 0 ? weights.k : weights.bl;
  double value = 0;
  double parts = 0;  // sizes of what floats are added of
  for (size_t b = 0; b < weights.blocks(); ++b) {
    const QuantizedRow& row = rows[rows.size() == 1 ? 0 : b];
    const size_t skipped = rows.size() == 1 ? 0 : b * length;
    int64_t products = 0;
    int64_t codes = 0;
    int64_t row_codes = 0;
    for (size_t k = b * length; k < (b + 1) * length; ++k) {
      products += int64_t{row.codes[k - skipped]} * weights.code(column, k);
      codes += weights.code(column, k);
      row_codes += row.codes[k - skipped];
    }
    const double scale = double{weights.scale(column, b * length)} * double{row.scale};
    const auto difference = static_cast<double>(products - row.zero_point * codes);
    value += difference * scale;
    // With blocks zero points are subtracted at the end, so that either part is rounded.
    const auto apart = static_cast<double>(std::abs(products) + std::abs(row.zero_point * codes));
    parts += std::fabs((weights.bl == 0 ? difference : apart) * scale);
    if (weights.offsets.empty()) continue;
    const double worth = double{row.scale} * static_cast<double>(row_codes) *
                         double{weights.offsets[column * weights.blocks() + b]};
    value += worth;
    parts += std::fabs(worth);
  }
  const double bias = weights.bias.empty() ? 0 : double{weights.bias[column]};
  const double roundings = weights.bl == 0 ? 2 : 2 * static_cast<double>(weights.blocks()) + 4;
  const double size = parts + std::fabs(bias);
  return {value + bias, roundings * 0x1p-23 * size + 0x1p-140, size};
}

ExactOutput exact_output(const float* row, const ClientWeights& weights, size_t column) {
  ExactOutput out;
  double parts = 0;
  for (size_t k = 0; k < weights.k; ++k) {
    const double a = f32_from(f16_from(row[k]));
    const double product = a * weights.code(column, k) * double{weights.scale(column, k)};
    out.value += product;
    parts += std::fabs(product);
    out.bound += std::fabs(a) * 0x1p-25;  // of weights that are no normal numbers
  }
  out.bound += parts * (0x1p-11 + static_cast<double>(weights.k + 2) * 0x1p-24) + 0x1p-140;
  return out;
}

}  // namespace tw::test
