#include "ggml/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "integrations/ggml/buffer.h"
#include "reference/source_reference.h"

namespace tw::ggml {

namespace {

float from_half(uint16_t bits) {
  const int exponent = bits >> 10 & 31;
  const double fraction = (bits & 1023) / 1024.0;
  const double size =
      exponent == 0 ? std::ldexp(fraction, -14) : std::ldexp(1 + fraction, exponent - 15);
  return static_cast<float>((bits & 0x8000) != 0 ? -size : size);
}

/// Between 2^-6 and 2^-3 in size.
uint16_t random_half(std::mt19937& random) {
  return static_cast<uint16_t>((random() & 0x8000) | (9 + random() % 3) << 10 | (random() & 1023));
}

void set_row(std::mt19937& random, const WeightType& type, uint8_t* row, size_t k) {
  for (size_t i = 0; i < k; i += std::max<size_t>(1, type.block)) {
    if (type.number == type_f32) {
      const float value = from_half(random_half(random));
      std::memcpy(row, &value, sizeof value);
    } else {
      const uint16_t half = random_half(random);
      std::memcpy(row, &half, sizeof half);
      for (size_t b = 2; b < type.block_bytes; ++b) row[b] = static_cast<uint8_t>(random());
      const uint16_t minimum = random_half(random);
      const bool has_minimum = type.number == type_q4_1 || type.number == type_q4_k;
      if (has_minimum) std::memcpy(row + 2, &minimum, sizeof minimum);
    }
    row += type.block_bytes;
  }
}

}  // namespace

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
  const size_t rows = extents[1] * extents[2] * extents[3];
  for (size_t row = 0; row < rows; ++row) {
    set_row(random, *weight_type(type), &made.bytes[row * made.tensor.nb[1]], extents[0]);
  }
  return made;
}

OwnTensor random_floats(std::mt19937& random, Extents extents) {
  return random_weights(random, type_f32, extents);
}

namespace {

float q4_k_value(const uint8_t* row, size_t i) {
  const test::Q4K block{row + i / 256 * 144};
  const size_t part = i % 256 / 32;
  const auto steps = static_cast<float>(block.scale(part) * block.code(i % 256));
  return test::half_at(block.at) * steps -
         test::half_at(block.at + 2) * static_cast<float>(block.minimum(part));
}

}  // namespace

std::vector<float> row_of(const OwnTensor& weights, size_t row) {
  const WeightType& type = *weight_type(weights.tensor.type);
  const auto k = static_cast<size_t>(weights.tensor.ne[0]);
  const uint8_t* at = &weights.bytes[row * weights.tensor.nb[1]];
  std::vector<float> values(k);
  for (size_t i = 0; i < k; ++i) {
    const size_t block = std::max<size_t>(1, type.block);
    const uint8_t* start = at + i / block * type.block_bytes;
    uint16_t half;
    std::memcpy(&half, start, sizeof half);
    const float scale = from_half(half);
    if (type.number == type_q4_k) values[i] = q4_k_value(at, i);
    if (type.number == type_f32) std::memcpy(&values[i], start, sizeof(float));
    if (type.number == type_f16) values[i] = scale;
    if (type.number == type_q8_0) values[i] = scale * static_cast<int8_t>(start[2 + i % 32]);
    const auto nibble = [&](size_t first) {
      return start[first + i % 16] >> (i % 32 / 16 * 4) & 15;
    };
    if (type.number == type_q4_0) values[i] = scale * static_cast<float>(nibble(2) - 8);
    if (type.number == type_q4_1) {
      std::memcpy(&half, start + 2, sizeof half);
      values[i] = scale * static_cast<float>(nibble(4)) + from_half(half);
    }
  }
  return values;
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

Expected expected(const OwnTensor& weights, size_t row, const std::vector<float>& input) {
  const std::vector<float> values = row_of(weights, row);
  Expected result = {0, 0};
  const bool rounds = weight_type(weights.tensor.type)->block != 0;
  for (size_t first = 0; first < input.size(); first += 32) {
    const size_t end = std::min(input.size(), first + 32);
    double largest = 0;
    for (size_t i = first; i < end; ++i) largest = std::max<double>(largest, std::abs(input[i]));
    for (size_t i = first; i < end; ++i) {
      result.sum += static_cast<double>(values[i]) * input[i];
      // Half of a step of 8 bits; sums of floats: k roundings.
      result.error += std::abs(values[i]) * (rounds ? 0.501 * largest / 127 : 0) +
                      std::abs(values[i] * input[i]) * static_cast<double>(input.size()) * 6e-8;
    }
  }
  return result;
}

}  // namespace tw::ggml
