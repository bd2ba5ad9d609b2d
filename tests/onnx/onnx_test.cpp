// Weights of ONNX Runtime's MatMulNBits, as its blobs are, against ONNX Runtime itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <random>
#include <string>
#include <vector>

#include "spec/folder.h"
#include "support/run_command.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

constexpr size_t m = 5, n = 37;

/// Operands of the node, as it reads them.
struct Nbits {
  size_t k, block;
  int bits;
  bool has_zeros;
  std::vector<float> a, scales;
  std::vector<uint8_t> b, zeros;

  Nbits(size_t k, size_t block, int bits, bool has_zeros)
      : k(k), block(block), bits(bits), has_zeros(has_zeros) {
    std::mt19937 random(static_cast<uint32_t>(k + block * 8 + static_cast<size_t>(bits)));
    std::uniform_real_distribution<float> real(-2, 2);
    const size_t codes = static_cast<size_t>(bits);
    for (size_t i = 0; i < m * k; ++i) a.push_back(real(random));
    for (size_t i = 0; i < n * blocks(); ++i) scales.push_back(real(random));
    for (size_t i = 0; i < n * k * codes / 8; ++i) b.push_back(static_cast<uint8_t>(random()));
    const size_t column = (blocks() * codes + 7) / 8;
    for (size_t i = 0; i < n * column; ++i) zeros.push_back(static_cast<uint8_t>(random()));
  }
  [[nodiscard]] size_t blocks() const { return k / block; }

  /// Of an output: of the products that it is the sum of, whatever their codes.
  [[nodiscard]] double size(size_t row, size_t column) const {
    double sum = 0;
    for (size_t i = 0; i < k; ++i) {
      sum += std::abs(a[row * k + i] * scales[column * blocks() + i / block]) * (1 << bits);
    }
    return sum;
  }
};

template <typename T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// What ONNX Runtime's node makes of it; accuracy level 4 quantizes activations by blocks.
std::vector<float> theirs(const Nbits& problem, int accuracy) {
  const Folder folder;
  folder.write("a", bytes_of(problem.a));
  folder.write("b", bytes_of(problem.b));
  folder.write("scales", bytes_of(problem.scales));
  folder.write("zeros", bytes_of(problem.zeros));
  const auto number = [](const char* name, size_t value) {
    return std::string("\"") + name + "\": " + std::to_string(value);
  };
  folder.write("problem.json",
               "{" + number("m", m) + ", " + number("n", n) + ", " + number("k", problem.k) + ", " +
                   number("bits", static_cast<size_t>(problem.bits)) + ", " +
                   number("block", problem.block) + ", " +
                   number("accuracy", static_cast<size_t>(accuracy)) +
                   ", \"has_zeros\": " + (problem.has_zeros ? "true" : "false") + "}");
  const Ran ran = run_command("node '" TW_MATMUL_NBITS "' '" TW_ONNXRUNTIME "' '" +
                              folder.path().string() + "'");
  EXPECT_EQ(ran.status, 0) << ran.output << "\nscripts/setup-onnxruntime installs it";
  std::vector<float> out(m * n, NAN);
  std::ifstream file(folder.path() / "y", std::ios::binary);
  file.read(reinterpret_cast<char*>(out.data()),
            static_cast<std::streamsize>(out.size() * sizeof(float)));
  EXPECT_EQ(file.gcount(), static_cast<std::streamsize>(out.size() * sizeof(float)));
  return out;
}

/// `lhs`: the format of activations in the family's name.
std::vector<float> ours(const Nbits& problem, const std::string& lhs) {
  const std::string family =
      "matmul_clamp_f32_" + lhs + "_qai" + std::to_string(problem.bits) + "c32p";
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family.c_str();
  matmul.n = n;
  matmul.k = problem.k;
  matmul.block = problem.block;
  matmul.scales = TW_SCALES_F32;
  const tilewright::Plan plan(tilewright::detect(), matmul);
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NBITS;
  source.data = problem.b.data();
  source.data_bytes = problem.b.size();
  source.stride = problem.b.size() / n;
  source.scales = problem.scales.data();
  source.scale_count = problem.scales.size();
  if (problem.has_zeros) source.zero_points = problem.zeros.data();
  source.zero_point_count = problem.zeros.size();
  std::vector<char> rhs(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) plan.pack_rhs(source, rhs.data(), rhs.size(), s);

  auto rows = tilewright::sized<tw_lhs_source>();
  rows.data = problem.a.data();
  rows.data_bytes = problem.a.size() * sizeof(float);
  rows.stride = problem.k * sizeof(float);
  std::vector<char> packed(plan.lhs_bytes(m));
  for (size_t s = 0; s < plan.lhs_slices(m); ++s) {
    plan.pack_lhs(m, rows, packed.data(), packed.size(), s);
  }
  const bool as_they_lie = packed.empty();
  std::vector<float> dst(m * n);
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  args.lhs = as_they_lie ? rows.data : packed.data();
  args.lhs_bytes = as_they_lie ? rows.data_bytes : packed.size();
  args.lhs_stride = as_they_lie ? rows.stride : 0;
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = dst.data();
  args.dst_bytes = dst.size() * sizeof(float);
  args.dst_stride = n * sizeof(float);
  for (size_t s = 0; s < plan.run_slices(m); ++s) plan.run(args, s);
  return dst;
}

/// Both results of one product each of all lengths, with and without zero points. `bound`: of their
/// difference, as a part of Nbits::size().
template <typename Bound>
void compare(const std::string& lhs, int accuracy, const std::vector<int>& widths, Bound bound) {
  for (const int bits : widths) {
    for (const size_t block : {32, 64, 128, 256}) {
      if (bits == 2 && block == 256) continue;  // theirs has no such
      for (const size_t blocks : {1, 3}) {
        for (const bool has_zeros : {true, false}) {
          SCOPED_TRACE(std::to_string(bits) + " bits, " + std::to_string(blocks) + " blocks of " +
                       std::to_string(block) + (has_zeros ? ", zero points" : ""));
          const Nbits problem(block * blocks, block, bits, has_zeros);
          const std::vector<float> found = ours(problem, lhs), wanted = theirs(problem, accuracy);
          for (size_t i = 0; i < m * n; ++i) {
            ASSERT_NEAR(found[i], wanted[i], problem.size(i / n, i % n) * bound(problem.k)) << i;
          }
        }
      }
    }
  }
}

/// Activations are quantized alike, so that what differs is where f32 sums are rounded.
TEST(OnnxRuntime, MatMulNBitsOfAccuracyLevel4) {
  compare("qsi8d32p", 4, {2, 4, 8}, [](size_t /*k*/) { return 0x1p-22; });
}

/// Weights are made f32, and both add up in an order of their own: a rounding for each of k, and
/// two of the weight.
TEST(OnnxRuntime, MatMulNBitsOfFloats) {
  compare("f32", 1, {4, 8}, [](size_t k) { return 2 * static_cast<double>(k + 2) * 0x1p-24; });
}

/// Else the two tests could not tell the arithmetics apart.
TEST(OnnxRuntime, QuantizedActivationsDiffer) {
  const Nbits problem(96, 32, 4, true);
  const std::vector<float> found = ours(problem, "qsi8d32p"), wanted = theirs(problem, 1);
  double most = 0;
  for (size_t i = 0; i < m * n; ++i) {
    most = std::max(most, std::abs(double{found[i]} - wanted[i]) / problem.size(i / n, i % n));
  }
  EXPECT_LT(most, 1.0 / 127);
  EXPECT_GT(most, 2 * 98 * 0x1p-24);
}

}  // namespace
}  // namespace tw::test
