// A kernel's whole output in memory, and what is right there.
#pragma once

#include <cmath>
#include <cstring>
#include <functional>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "kernels/case.h"
#include "kernels/float_operands.h"
#include "reference/half_reference.h"
#include "reference/half_sums_reference.h"
#include "reference/sums_reference.h"
#include "support/guarded_buffer.h"

namespace tw::test {

constexpr uint8_t poison = 0xD1;

using Buffer = std::unique_ptr<GuardedBuffer>;

Buffer make_buffer(const char* name, size_t bytes, const Case& test);
template <typename T>
Buffer make_buffer(const char* name, const std::vector<T>& values, const Case& test) {
  Buffer buffer = make_buffer(name, values.size() * sizeof(T), test);
  if (!values.empty()) std::memcpy(buffer->data(), values.data(), buffer->size());
  return buffer;
}

template <typename T>
T bits_at(const uint8_t* from) {
  T bits;
  std::memcpy(&bits, from, sizeof bits);
  return bits;
}

/// A whole output in memory.
struct Output {
  std::string type;
  Buffer buffer;
  size_t stride = 0;
  std::vector<uint8_t> before;

  [[nodiscard]] size_t size() const { return bytes_of_float(type); }
  [[nodiscard]] size_t offset(size_t row, size_t column) const {
    return row * stride + column * size();
  }
  [[nodiscard]] uint32_t bits(size_t row, size_t column) const {
    const uint8_t* at = buffer->data() + offset(row, column);
    switch (size()) {  // known ones: a copy of so many bytes is no call
      case 1:
        return *at;
      case 2:
        return bits_at<uint16_t>(at);
      default:
        return bits_at<uint32_t>(at);
    }
  }
  [[nodiscard]] float value(size_t row, size_t column) const {
    return value_of_bits(type, bits(row, column));
  }
};

/// `old`: of its values, before; none: poison.
Output make_output(const Case& test, const std::string& type, const std::vector<float>& old);

/// What is wrong with an output; empty: nothing.
using Judge = std::function<std::string(size_t row, size_t column, const Output& out)>;

/// Right to the bit, from right f32 values; signs and payloads of NaNs are nobody's promise.
template <typename ValueAt>
Judge judge_bits(ValueAt value_at) {
  return [value_at](size_t row, size_t column, const Output& out) {
    const float exact = value_at(row, column);
    const uint32_t right = output_bits(out.type, exact);
    const uint32_t found = out.bits(row, column);
    if (found == right) return std::string();
    const float value = value_of_bits(out.type, found);
    if (std::isnan(value) && std::isnan(exact)) return std::string();
    std::ostringstream text;
    text << std::hexfloat << value << ", should be " << value_of_bits(out.type, right);
    return text.str();
  };
}

/// Codes.
template <typename Problem>
Judge judge_codes(const Problem& problem) {
  return judge_bits([n = problem.n, expected = multiply(problem)](size_t row, size_t column) {
    return expected[row * n + column];
  });
}

/// Sums, all bits of them.
Judge judge_sums(const SumsMatmul& problem);

/// Floats: within the bound.
Judge judge_floats(const FloatMatmul& floats);

/// Sums of f16, added to `old` if there are such: right to the bit.
Judge judge_half_sums(const FloatMatmul& floats, const std::vector<float>& old,
                      const HalfSets& how);

/// Compares the portion with the reference and everything else with what was there.
std::string compare(const Case& test, const Judge& judge, const Output& out);

/// The output with all NaNs alike: their signs and payloads are nobody's promise.
std::vector<uint8_t> output_bytes(const Case& test, const Output& out);

}  // namespace tw::test
