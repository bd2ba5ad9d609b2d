#include "kernels/rhs_source.h"

#include <cstring>

#include "reference/code_tables.h"
#include "reference/ggml_blocks.h"
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

/// Rows of blocks of ggml's.
std::vector<uint8_t> ggml_rows(const Matmul& problem, const GgmlType& type) {
  const size_t parts = type.values / type.span;
  const auto put_half = [](uint8_t* at, float value) {
    const uint32_t half = float_bits("f16", value);
    at[0] = static_cast<uint8_t>(half);
    at[1] = static_cast<uint8_t>(half >> 8);
  };
  const CodeValues* table = code_values(type.table);
  const float unit = table != nullptr ? table->unit : 1;
  const Numbers& numbers = problem.numbers;
  const std::vector<float>& scales = type.steps() ? numbers.scale_steps : problem.scales;
  const std::vector<float>& minimums = type.steps() ? numbers.minimum_steps : problem.minimums;
  std::vector<uint8_t> bytes(problem.rhs.size() / type.values * type.bytes);
  for (size_t i = 0; i < problem.rhs.size() / type.values; ++i) {
    GgmlBlock block(type, bytes.data() + i * type.bytes);
    for (size_t f = 0; f < type.floats(); ++f) {
      const float scale = scales[i * type.floats() + f] / unit;
      const uint32_t bits = block.kept_scale(float_bits(type.scale_type, scale));
      std::memcpy(block.d_at(f), &bits, block.d_bytes());
    }
    if (type.minimums) put_half(block.m_at(), minimums[i]);
    for (size_t p = 0; p < parts && type.steps(); ++p) {
      block.set_scale(p, numbers.scales[i * parts + p]);
      if (type.minimums) block.set_minimum(p, numbers.minimums[i * parts + p]);
    }
    for (size_t k = 0; k < type.values; ++k) {
      const int value = problem.rhs[i * type.values + k];
      block.set_code(k, table == nullptr ? value : table->code_of(value, k) - type.middle());
    }
  }
  return bytes;
}

}  // namespace

bool is_ggml(const tw_packer& packer) {
  return find_ggml(packer.source) != nullptr;
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
  if (is_ggml(packer)) return ggml_rows(problem, *find_ggml(packer.source));
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
