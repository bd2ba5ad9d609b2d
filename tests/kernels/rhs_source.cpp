#include "kernels/rhs_source.h"

#include <cstring>

#include "reference/half_reference.h"

namespace tw::test {
namespace {

/// Codes of less than 8 bits, low ones of a byte first. [rows][columns] of `at(row, column)`.
template <typename At>
std::vector<uint8_t> shared_bytes(size_t rows, size_t columns, size_t bits, bool is_unsigned,
                                  At at) {
  const size_t together = 8 / bits;
  const size_t stride = (columns + together - 1) / together;
  std::vector<uint8_t> bytes(rows * stride, 0);
  for (size_t row = 0; row < rows; ++row) {
    for (size_t column = 0; column < columns; ++column) {
      const int code = at(row, column) + (is_unsigned ? 8 : 0);
      bytes[row * stride + column / together] |=
          static_cast<uint8_t>((code & ((1 << bits) - 1)) << column % together * bits);
    }
  }
  return bytes;
}

/// Codes as bytes.
template <typename At>
std::vector<uint8_t> code_bytes(size_t rows, size_t columns, At at) {
  std::vector<uint8_t> bytes(rows * columns);
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<uint8_t>(at(i / columns, i % columns));
  }
  return bytes;
}

/// Rows of ggml's Q4_0: a scale of f16, then the codes of 32 values, the first 16 in low nibbles.
/// Of Q4_1: a minimum behind the scale. Of Q8_0: the codes as bytes.
std::vector<uint8_t> ggml_rows(const Matmul& problem, size_t bits) {
  std::vector<uint8_t> bytes;
  const auto add_half = [&](float value) {
    const uint32_t half = float_bits("f16", value);
    bytes.push_back(static_cast<uint8_t>(half));
    bytes.push_back(static_cast<uint8_t>(half >> 8));
  };
  for (size_t i = 0; i < problem.rhs.size(); i += 32) {
    add_half(problem.scales[i / 32]);
    if (!problem.minimums.empty()) add_half(problem.minimums[i / 32]);
    if (bits == 8) {
      bytes.insert(bytes.end(), problem.rhs.begin() + static_cast<ptrdiff_t>(i),
                   problem.rhs.begin() + static_cast<ptrdiff_t>(i + 32));
      continue;
    }
    for (size_t j = i; j < i + 16; ++j) {
      const int high = problem.rhs[j + 16] + 8;
      bytes.push_back(static_cast<uint8_t>(problem.rhs[j] + 8 + high * 16));
    }
  }
  return bytes;
}

/// Rows of ggml's Q4_K: two steps of f16, 6 bits for each scale and each minimum of 8 blocks, codes
/// of two blocks in the low and the high nibbles of 32 bytes.
std::vector<uint8_t> q4_k_rows(const Matmul& problem) {
  const Numbers& numbers = problem.numbers;
  std::vector<uint8_t> bytes;
  for (size_t i = 0; i < problem.rhs.size(); i += 256) {
    const uint32_t steps = float_bits("f16", numbers.scale_steps[i / 256]) |
                           float_bits("f16", numbers.minimum_steps[i / 256]) << 16;
    for (size_t byte = 0; byte < 4; ++byte)
      bytes.push_back(static_cast<uint8_t>(steps >> 8 * byte));
    uint8_t six[12] = {};
    for (size_t b = 0; b < 8; ++b) {
      const int scale = numbers.scales[i / 32 + b], minimum = numbers.minimums[i / 32 + b];
      if (b < 4) {
        six[b] |= static_cast<uint8_t>(scale);
        six[b + 4] |= static_cast<uint8_t>(minimum);
      } else {
        six[b + 4] = static_cast<uint8_t>((scale & 15) | (minimum & 15) << 4);
        six[b - 4] |= static_cast<uint8_t>(scale >> 4 << 6);
        six[b] |= static_cast<uint8_t>(minimum >> 4 << 6);
      }
    }
    bytes.insert(bytes.end(), six, six + 12);
    for (size_t j = 0; j < 128; ++j) {
      const size_t k = i + j / 32 * 64 + j % 32;
      const int high = problem.rhs[k + 32] + 8;
      bytes.push_back(static_cast<uint8_t>(problem.rhs[k] + 8 + high * 16));
    }
  }
  return bytes;
}

}  // namespace

bool is_ggml(const tw_packer& packer) {
  return packer.source[0] == 'q';
}

std::vector<uint8_t> scale_bytes(const std::vector<float>& scales, const std::string& type) {
  const size_t bytes = bytes_of_float(type);
  std::vector<uint8_t> out(scales.size() * bytes);
  for (size_t i = 0; i < scales.size(); ++i) {
    const uint32_t bits = float_bits(type, scales[i]);
    std::memcpy(out.data() + i * bytes, &bits, bytes);
  }
  return out;
}

std::vector<uint8_t> rhs_source(const Matmul& problem, const Case& test, const tw_packer& packer) {
  if (!problem.numbers.scales.empty()) return q4_k_rows(problem);
  if (is_ggml(packer)) return ggml_rows(problem, packer.layout->data_bits);
  const bool kxn = std::strcmp(packer.source, "kxn") == 0;
  const auto code = [&](size_t row, size_t at) {
    return kxn ? problem.rhs[at * problem.k + row] : problem.rhs[row * problem.k + at];
  };
  const size_t rows = kxn ? problem.k : problem.n;
  const size_t columns = kxn ? problem.n : problem.k;
  const size_t bits = packer.layout->data_bits;
  if (bits == 8) return code_bytes(rows, columns, code);
  return shared_bytes(rows, columns, bits, bits == 4 && test.unsigned_nibbles, code);
}

}  // namespace tw::test
