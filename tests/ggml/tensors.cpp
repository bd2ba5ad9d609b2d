#include "ggml/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <string>

#include "integrations/ggml/buffer.h"
#include "integrations/ggml/flat.h"
#include "reference/code_tables.h"
#include "reference/ggml_blocks.h"
#include "reference/ggml_grids.h"
#include "reference/half_reference.h"
#include "reference/source_reference.h"

namespace tw::ggml {

namespace {

/// Between 2^-6 and 2^-3 in size.
uint16_t random_half(std::mt19937& random) {
  return static_cast<uint16_t>((random() & 0x8000) | (9 + random() % 3) << 10 | (random() & 1023));
}

void fill(std::mt19937& random, uint8_t* bytes, size_t count) {
  for (size_t i = 0; i < count; ++i) bytes[i] = static_cast<uint8_t>(random());
}

void set_float(std::mt19937& random, const WeightType& type, uint8_t* at) {
  const float value = test::half_value(random_half(random));
  if (type.number == type_f32) {
    std::memcpy(at, &value, sizeof value);
  } else {
    const uint32_t bits = test::float_bits("bf16", test::rounded_to("bf16", value));
    std::memcpy(at, &bits, type.block_bytes);
  }
}

/// Of one value where the type has no blocks.
void set_block(std::mt19937& random, const WeightType& type, const test::GgmlType* ggml,
               uint8_t* at) {
  const uint16_t half = random_half(random);
  fill(random, at, type.block_bytes);
  if (test::has_grid(type.name)) {
    test::GridBlock::set_d(type.name, half, at);
    return;
  }
  std::vector<uint8_t*> scales = {type.number == type_tq1_0 ? at + 52 : at};
  if (ggml != nullptr) {
    const test::GgmlBlock block(*ggml, at);
    const uint16_t minimum = random_half(random);
    if (ggml->minimums) std::memcpy(block.m_at(), &minimum, sizeof minimum);
    scales.clear();
    for (size_t i = 0; i < ggml->floats(); ++i) scales.push_back(block.d_at(i));
  }
  const std::string kept = ggml != nullptr ? ggml->scale_type : "f16";
  const bool is_byte = kept != "f16";
  const uint32_t middle = kept == "e8m0" ? 120 : 30;
  for (uint8_t* scale : scales) {
    if (!is_byte) std::memcpy(scale, &half, sizeof half);
    if (is_byte) *scale = static_cast<uint8_t>(middle + random() % 3);
  }
}

}  // namespace

/// Types that take much more memory packed are ours only if somebody says so.
const bool grows = setenv("TILEWRIGHT_GROW", "1", 1) == 0;

std::vector<int32_t> types_here() {
  std::vector<int32_t> types;
  for (const int32_t type : kTypes) {
    if (weight_type(type)->flat_bytes == 0 || find_flat_form(type) != nullptr)
      types.push_back(type);
  }
  return types;
}

Bytes random_bytes(std::mt19937& random, size_t count) {
  Bytes bytes(count);
  fill(random, bytes.data(), count);
  return bytes;
}

void make_writable(int32_t type, size_t offset, Bytes& bytes) {
  constexpr size_t block = 54, five = 48, codes = 52;
  for (size_t i = 0; type == type_tq1_0 && i < bytes.size(); ++i) {
    const size_t at = (offset + i) % block;
    if (at >= codes) continue;
    unsigned number = bytes[i] * 243U / 256;  // of five digits, or of four and a 0
    if (at >= five) number -= number % 3;
    bytes[i] = static_cast<uint8_t>((number * 256 + 242) / 243);
  }
}

OwnTensor make_tensor(int32_t type, Extents extents) {
  OwnTensor made;
  const WeightType* weights = weight_type(type);
  made.tensor.type = type;
  for (size_t i = 0; i < 4; ++i) made.tensor.ne[i] = static_cast<int64_t>(extents[i]);
  made.tensor.nb[0] = weights != nullptr ? weights->block_bytes : 4;
  made.tensor.nb[1] = weights != nullptr ? row_bytes(*weights, extents[0]) : 4 * extents[0];
  made.tensor.nb[2] = made.tensor.nb[1] * extents[1];
  made.tensor.nb[3] = made.tensor.nb[2] * extents[2];
  made.bytes.resize(made.tensor.nb[3] * extents[3]);
  made.tensor.data = made.bytes.data();
  return made;
}

size_t whole_blocks(int32_t type, size_t k) {
  const size_t block = std::max<size_t>(1, weight_type(type)->block);
  return (k + block - 1) / block * block;
}

OwnTensor random_weights(std::mt19937& random, int32_t type, Extents extents) {
  OwnTensor made = make_tensor(type, extents);
  const WeightType& weights = *weight_type(type);
  const test::GgmlType* ggml = test::find_ggml(weights.name);
  const bool is_float = type == type_f32 || type == type_bf16;
  for (size_t at = 0; at < made.bytes.size(); at += weights.block_bytes) {
    if (is_float) {
      set_float(random, weights, &made.bytes[at]);
    } else {
      set_block(random, weights, ggml, &made.bytes[at]);
    }
  }
  return made;
}

OwnTensor random_floats(std::mt19937& random, Extents extents) {
  return random_weights(random, type_f32, extents);
}

namespace {

void put_block(const test::GgmlType& type, const test::GgmlBlock& block, float* values) {
  const test::CodeValues* table = test::code_values(type.table);
  const auto scale = [&](size_t part) {
    uint32_t bits = 0;
    std::memcpy(&bits, block.d_at(type.steps() ? 0 : part), block.d_bytes());
    const float d = test::value_of_bits(type.scale_type, block.kept_scale(bits));
    return table != nullptr ? d * table->unit : d;
  };
  const float minimum = type.minimums ? test::half_at(block.m_at()) : 0;
  for (size_t i = 0; i < type.values; ++i) {
    int code = block.code(i) + (type.minimums ? type.middle() : 0);
    if (table != nullptr) code = table->values[code + type.middle()];
    const size_t part = i / type.span;
    values[i] = scale(part) * static_cast<float>((type.steps() ? block.scale(part) : 1) * code);
    if (!type.minimums) continue;
    values[i] += type.steps() ? -minimum * static_cast<float>(block.minimum(part)) : minimum;
  }
}

}  // namespace

std::vector<float> floats_of(int32_t number, const uint8_t* row, size_t k) {
  const WeightType& type = *weight_type(number);
  const test::GgmlType* ggml = test::find_ggml(type.name);
  std::vector<float> values(k);
  if (test::has_grid(type.name)) {
    for (size_t i = 0; i < k / type.block; ++i) {
      const auto block = test::GridBlock(type.name, row + i * type.block_bytes).values();
      std::copy(block.begin(), block.end(), &values[i * type.block]);
    }
    return values;
  }
  if (ggml == nullptr) {
    const test::SourceReference& source = *test::find_source_reference(type.name);
    for (size_t i = 0; i < k; ++i) values[i] = source.value(row, i);
    return values;
  }
  Bytes bytes(row, row + row_bytes(type, k));  // GgmlBlock could set them
  for (size_t i = 0; i < k / ggml->values; ++i) {
    put_block(*ggml, test::GgmlBlock(*ggml, &bytes[i * ggml->bytes]), &values[i * ggml->values]);
  }
  return values;
}

std::vector<float> row_of(const OwnTensor& weights, size_t row) {
  return floats_of(weights.tensor.type, &weights.bytes[row * weights.tensor.nb[1]],
                   static_cast<size_t>(weights.tensor.ne[0]));
}

std::vector<std::vector<float>> rows_of(const OwnTensor& weights) {
  const auto& ne = weights.tensor.ne;
  std::vector<std::vector<float>> rows(static_cast<size_t>(ne[1] * ne[2] * ne[3]));
  for (size_t row = 0; row < rows.size(); ++row) rows[row] = row_of(weights, row);
  return rows;
}

float float_at(const Tensor& tensor, size_t i0, size_t i1, size_t i2, size_t i3) {
  float value;
  std::memcpy(&value,
              static_cast<const char*>(tensor.data) + i0 * tensor.nb[0] + i1 * tensor.nb[1] +
                  i2 * tensor.nb[2] + i3 * tensor.nb[3],
              sizeof value);
  return value;
}

PackedTensor pack(OwnTensor source) {
  PackedTensor made;
  made.source = std::move(source);
  made.source.tensor.data = made.source.bytes.data();
  const Packing* packing = packing_of(made.source.tensor);
  const size_t matrices = matrices_of(made.source.tensor);
  made.memory.resize(packing->bytes * matrices);
  set_span(*packing, matrices, {0, made.source.bytes.size()}, made.source.bytes.data(),
           made.memory.data());
  made.tensor = made.source.tensor;
  made.tensor.data = made.memory.data();
  made.tensor.extra = const_cast<Packing*>(packing);
  return made;
}

Expected expected(int32_t type, const std::vector<float>& row, const std::vector<float>& input) {
  Expected result = {0, 0, 0};
  const bool rounds = weight_type(type)->block != 0;
  for (size_t first = 0; first < input.size(); first += 32) {
    const size_t end = std::min(input.size(), first + 32);
    double largest = 0;
    for (size_t i = first; i < end; ++i) largest = std::max<double>(largest, std::abs(input[i]));
    for (size_t i = first; i < end; ++i) {
      result.sum += static_cast<double>(row[i]) * input[i];
      result.sizes += std::abs(static_cast<double>(row[i]) * input[i]);
      // Half of a step of 8 bits; sums of floats: k roundings.
      result.error += std::abs(row[i]) * (rounds ? 0.501 * largest / 127 : 0) +
                      std::abs(row[i] * input[i]) * static_cast<double>(input.size()) * 6e-8;
    }
  }
  return result;
}

}  // namespace tw::ggml
