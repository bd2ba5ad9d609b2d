#include "random_rows.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <iterator>

#include "reference/code_tables.h"
#include "reference/ggml_grids.h"
#include "reference/half_reference.h"

namespace tw {

/// Types with blocks.
struct BlockType {
  StoredType number;
  const char* name;
  size_t first, end;  ///< bytes of a block that are bits of codes

  [[nodiscard]] const test::GgmlType& blocks() const { return *test::find_ggml(name); }
};

/// Types with numbers of rows of a grid, in blocks of 256.
struct GridRows {
  StoredType number;
  const char* name;
  size_t bytes;
  float size;  ///< root mean square of what random bits are behind a scale of 1
};

namespace {

constexpr GridRows grid_rows[] = {
    {StoredType::iq3_s, "iq3_s", 110, 140.4F},   {StoredType::iq3_xxs, "iq3_xxs", 98, 142.2F},
    {StoredType::iq2_xxs, "iq2_xxs", 66, 53.4F}, {StoredType::iq2_xs, "iq2_xs", 74, 56},
    {StoredType::iq2_s, "iq2_s", 82, 56.4F},     {StoredType::iq1_s, "iq1_s", 50, 7.2F},
    {StoredType::iq1_m, "iq1_m", 56, 7.2F}};

constexpr BlockType block_types[] = {
    {StoredType::q4_0, "q4_0", 2, 18},     {StoredType::q4_1, "q4_1", 4, 20},
    {StoredType::q5_0, "q5_0", 2, 22},     {StoredType::q5_1, "q5_1", 4, 24},
    {StoredType::q8_0, "q8_0", 2, 34},     {StoredType::q4_k, "q4_k", 16, 144},
    {StoredType::q5_k, "q5_k", 16, 176},   {StoredType::q6_k, "q6_k", 0, 192},
    {StoredType::iq4_nl, "iq4_nl", 2, 18}, {StoredType::iq4_xs, "iq4_xs", 8, 136},
    {StoredType::mxfp4, "mxfp4", 1, 17},   {StoredType::q2_k, "q2_k", 16, 80},
    {StoredType::q3_k, "q3_k", 0, 96},     {StoredType::tq2_0, "tq2_0", 0, 64},
    {StoredType::q2_0, "q2_0", 2, 18},     {StoredType::nvfp4, "nvfp4", 4, 36},
    {StoredType::q1_0, "q1_0", 2, 18},
};
constexpr size_t kBell = 4096;

/// null: there is none of that number.
template <class Type, size_t count>
const Type* find_type(const Type (&types)[count], StoredType number) {
  const auto* found = std::find_if(std::begin(types), std::end(types),
                                   [&](const Type& type) { return type.number == number; });
  return found != std::end(types) ? found : nullptr;
}

/// That a scale has; others have less than twice as many.
int fewest_steps(const test::GgmlType& type) {
  const bool has_sign = type.scales.offset != 0;
  const int bits = type.scales.low_bits + (type.scales.top != nullptr ? 2 : 0);
  return 1 << (bits - (has_sign ? 2 : 1));
}

/// Root mean square of evenly spread codes less their bias, where minimums take that away.
float size_of_codes(const test::GgmlType& type) {
  if (const test::CodeValues* table = test::code_values(type.table)) {
    float squares = 0;
    for (int i = 0; i < table->count; ++i) {
      squares += static_cast<float>(table->values[i] * table->values[i]);
    }
    return std::sqrt(squares / static_cast<float>(table->count)) * table->unit;
  }
  const int codes = type.bits() == 8 ? 255 : 1 << type.bits();  // Q8_0 has no -128
  const float spread = static_cast<float>(codes * codes - 1) / 12;
  return std::sqrt(spread + (type.minimums || type.bits() == 8 ? 0 : 0.25F));
}

/// Scales around the one that gives codes of `size_of_codes` the size `size`. As in files that ggml
/// quantized, half of them are negative; codes of Q4_0, from -8 to 7, so have no bias together.
/// Powers of two are positive.
using ScaleTable = std::array<uint16_t, 64>;
ScaleTable scale_table(const std::string& type, float size_of_codes, float size) {
  ScaleTable table;
  for (size_t i = 0; i < table.size(); ++i) {
    const float spread = 0.75F + 0.5F * static_cast<float>(i / 2) / 31.0F;
    const float scale = size / size_of_codes * spread;
    const float rounded = test::rounded_to(type, i % 2 == 0 ? scale : -scale);
    table[i] = static_cast<uint16_t>(test::float_bits(type, rounded));
  }
  return table;
}

/// Minimums with which codes from 0 on have no bias. Those in steps, as many as of the scale, are
/// taken away.
ScaleTable minimum_table(const test::GgmlType& type, const ScaleTable& scales) {
  const float middle = static_cast<float>((1 << type.bits()) - 1) / 2;
  ScaleTable table;
  for (size_t i = 0; i < table.size(); ++i) {
    table[i] = test::half_bits((type.steps() ? middle : -middle) * test::half_value(scales[i]));
  }
  return table;
}

}  // namespace

size_t stored_bytes(StoredType number, size_t values) {
  if (const GridRows* type = find_type(grid_rows, number)) return values / 256 * type->bytes;
  if (const BlockType* type = find_type(block_types, number)) {
    return values / type->blocks().values * type->blocks().bytes;
  }
  return values * (number == StoredType::f32 ? 4 : 2);
}

// Sums of twelve uniform values are as good as normal here, and the same with every library.
RandomRows::RandomRows(uint64_t seed) : state_(seed), bell_(kBell) {
  for (float& value : bell_) {
    double sum = -6;
    for (int i = 0; i < 12; ++i) sum += static_cast<double>(next() >> 11) * 0x1p-53;
    value = static_cast<float>(sum);
  }
}

/// splitmix64
uint64_t RandomRows::next() {
  state_ += 0x9e3779b97f4a7c15;
  uint64_t mixed = state_;
  mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9;
  mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111eb;
  return mixed ^ mixed >> 31;
}

void RandomRows::fill(StoredType number, float size, std::vector<uint8_t>& values) {
  if (const GridRows* type = find_type(grid_rows, number)) {
    fill_grids(*type, size, values);
  } else if (const BlockType* type = find_type(block_types, number)) {
    fill_blocks(*type, size, values);
  } else {
    fill_floats(number, size, values);
  }
}

void RandomRows::fill_blocks(const BlockType& type, float size, std::vector<uint8_t>& values) {
  const test::GgmlType& blocks = type.blocks();
  const float steps = blocks.steps() ? 1.5F * static_cast<float>(fewest_steps(blocks)) : 1;
  const auto scales = scale_table(blocks.scale_type, size_of_codes(blocks) * steps, size);
  const auto minimums = minimum_table(blocks, scales);
  for (size_t at = 0; at < values.size(); at += blocks.bytes) {
    const test::GgmlBlock block(blocks, &values[at]);
    const size_t which = next() % scales.size();
    for (size_t i = 0; i < blocks.floats(); ++i) {
      std::memcpy(block.d_at(i), &scales[which], block.d_bytes());
    }
    if (blocks.minimums) std::memcpy(block.m_at(), &minimums[which], sizeof minimums[which]);
    if (blocks.steps()) fill_steps(blocks, block);
    for (size_t code = at + type.first; code < at + type.end; code += sizeof(uint64_t)) {
      const uint64_t bits = next();
      std::memcpy(&values[code], &bits, std::min(sizeof bits, at + type.end - code));
    }
    if (blocks.bits() < 8) continue;
    for (size_t code = at + type.first; code < at + type.end; ++code) {  // Q8_0 has no -128
      if (values[code] == 0x80) values[code] = 0;
    }
  }
}

void RandomRows::fill_grids(const GridRows& type, float size, std::vector<uint8_t>& values) {
  const ScaleTable scales = scale_table("f16", type.size, size);
  for (size_t at = 0; at < values.size(); at += sizeof(uint64_t)) {
    const uint64_t bits = next();
    std::memcpy(&values[at], &bits, std::min(sizeof bits, values.size() - at));
  }
  for (size_t at = 0; at < values.size(); at += type.bytes) {
    test::GridBlock::set_d(type.name, scales[next() % scales.size()], &values[at]);
  }
}

/// Minimums are as many steps as scales.
void RandomRows::fill_steps(const test::GgmlType& type, test::GgmlBlock block) {
  const int fewest = fewest_steps(type);
  uint64_t bits = next();
  if (type.scales.top == nullptr || !type.minimums) {
    for (size_t part = 0; part < type.values / type.span; ++part, bits >>= 8) {
      if (part == 8) bits = next();
      const int number = fewest + static_cast<int>(bits & (static_cast<unsigned>(fewest) - 1));
      const bool is_negative = !type.minimums && (bits & static_cast<unsigned>(fewest)) != 0;
      block.set_scale(part, is_negative ? -number : number);
      if (type.minimums) block.set_minimum(part, number);
    }
    return;
  }
  for (size_t i = 0; i < 8; ++i, bits >>= 5) {
    const size_t part = i / 2 + i % 2 * 4;
    const int number = fewest + static_cast<int>(bits & (part < 4 ? 31 : 15));
    block.set_scale(part, number);
    block.set_minimum(part, number);
  }
}

void RandomRows::fill_floats(StoredType type, float size, std::vector<uint8_t>& values) {
  std::vector<float> floats(bell_);
  for (float& value : floats) value *= size;
  std::vector<uint16_t> halves;
  const char* name = type == StoredType::bf16 ? "bf16" : "f16";
  for (const float value : floats) {
    halves.push_back(static_cast<uint16_t>(test::float_bits(name, test::rounded_to(name, value))));
  }
  const size_t bytes = type == StoredType::f32 ? 4 : 2;
  uint64_t bits = 0;
  for (size_t i = 0; i < values.size() / bytes; ++i, bits >>= 12) {
    if (i % 5 == 0) bits = next();
    const size_t which = bits % kBell;
    if (bytes == 4) {
      std::memcpy(&values[i * bytes], &floats[which], bytes);
    } else {
      std::memcpy(&values[i * bytes], &halves[which], bytes);
    }
  }
}

}  // namespace tw
