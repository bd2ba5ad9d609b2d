#include "kernels/output.h"

#include <algorithm>

namespace tw::test {

Buffer make_buffer(const char* name, size_t bytes, const Case& test) {
  return std::make_unique<GuardedBuffer>(name, bytes, test.flush, test.misalign);
}

Output make_output(const Case& test, const std::string& type, const std::vector<float>& old) {
  Output out;
  out.type = type;
  const size_t row = test.n * out.size();
  out.stride = row + test.dst_padding;
  const bool empty = test.m == 0 || test.n == 0;
  out.buffer = make_buffer("dst", empty ? 0 : (test.m - 1) * out.stride + row, test);
  out.buffer->fill(poison);
  for (size_t i = 0; i < old.size(); ++i) {
    const uint32_t bits = float_bits(type, old[i]);
    std::memcpy(out.buffer->data() + out.offset(i / test.n, i % test.n), &bits, out.size());
  }
  out.before.assign(out.buffer->data(), out.buffer->data() + out.buffer->size());
  return out;
}

Judge judge_sums(const SumsMatmul& problem) {
  return
      [n = problem.n, expected = multiply(problem)](size_t row, size_t column, const Output& out) {
        const auto found = static_cast<int32_t>(out.bits(row, column));
        const int32_t right = expected[row * n + column];
        if (found == right) return std::string();
        return std::to_string(found) + ", should be " + std::to_string(right);
      };
}

Judge judge_floats(const FloatMatmul& floats) {
  return [floats](size_t row, size_t column, const Output& out) {
    const FloatOutput right = float_output(floats, row, column);
    if (agrees(out.value(row, column), right, floats)) return std::string();
    std::ostringstream text;
    text << out.value(row, column) << ", should be " << right.value << " +- " << right.bound;
    return text.str();
  };
}

Judge judge_half_sums(const FloatMatmul& floats, const std::vector<float>& old,
                      const HalfSets& how) {
  return judge_bits([floats, old, how](size_t row, size_t column) {
    float sum = half_sum(floats, row, column, how) + floats.bias[column];
    if (!old.empty()) sum += old[row * floats.n + column];
    return clamp_output(sum, floats.min, floats.max);
  });
}

std::string compare(const Case& test, const Judge& judge, const Output& out) {
  const Portion& portion = test.portion;
  const uint8_t* dst = out.buffer->data();
  std::vector<uint8_t> expected = out.before;
  const bool has_columns = portion.n0 < portion.n1;
  for (size_t row = portion.m0; has_columns && row < portion.m1; ++row) {
    for (size_t column = portion.n0; column < portion.n1; ++column) {
      const std::string wrong = judge(row, column, out);
      if (!wrong.empty()) {
        return "dst[" + std::to_string(row) + "][" + std::to_string(column) + "] is " + wrong;
      }
    }
    const size_t from = out.offset(row, portion.n0), to = out.offset(row, portion.n1);
    std::copy(dst + from, dst + to, expected.begin() + static_cast<ptrdiff_t>(from));
  }
  const auto at = std::mismatch(expected.begin(), expected.end(), dst).first - expected.begin();
  const auto byte = static_cast<size_t>(at);
  if (byte == expected.size()) return {};
  return "it wrote byte " + std::to_string(byte % out.stride) + " of row " +
         std::to_string(byte / out.stride) + ", outside of the portion";
}

std::vector<uint8_t> output_bytes(const Case& test, const Output& out) {
  std::vector<uint8_t> bytes(out.buffer->data(), out.buffer->data() + out.buffer->size());
  if (out.type == "i32") return bytes;
  const uint32_t nan = output_bits(out.type, NAN);
  for (size_t i = 0; i < test.m * test.n; ++i) {
    if (!std::isnan(out.value(i / test.n, i % test.n))) continue;
    std::memcpy(bytes.data() + out.offset(i / test.n, i % test.n), &nan, out.size());
  }
  return bytes;
}

}  // namespace tw::test
