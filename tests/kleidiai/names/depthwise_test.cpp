// KleidiAI's names for depthwise convolutions: bytes that packers write are theirs, and outputs
// within bounds of exact sums, over random planes with padding on all sides.
#include "kleidiai/names/depthwise.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <random>

#include "kleidiai/names/parts.h"
#include "kleidiai/names/refused.h"

namespace tw::test::depthwise_test {
namespace {

size_t value_bytes(const std::string& name) {
  return name.find("f32_f32p") != std::string::npos || name.find("x32") != std::string::npos ? 4
                                                                                             : 2;
}

/// Channels in a vector of streaming mode, which headers do not tell everywhere.
size_t panel_of(size_t bytes) {
  return tap_packers().front().theirs.size(0, 0, 1) / bytes;
}

void put(uint8_t* at, float value, size_t bytes) {
  const uint16_t half = f16_from(value);
  bytes == 2 ? std::memcpy(at, &half, bytes) : std::memcpy(at, &value, bytes);
}

float get(const uint8_t* at, size_t bytes) {
  uint16_t half = 0;
  float value = 0;
  bytes == 2 ? std::memcpy(&half, at, bytes) : std::memcpy(&value, at, bytes);
  return bytes == 2 ? f32_from(half) : value;
}

/// Numbers whose sums are exact in f16 if `whole`.
std::vector<uint8_t> random_values(size_t count, size_t bytes, bool whole, std::mt19937& random) {
  std::vector<uint8_t> values(count * bytes);
  std::uniform_real_distribution<float> any(-1, 1);
  for (size_t i = 0; i < count; ++i) {
    const auto small = static_cast<float>(static_cast<int>(random() % 5) - 2);
    put(&values[i * bytes], whole ? small : any(random), bytes);
  }
  return values;
}

class KleidiaiTapPackers : public testing::TestWithParam<Both<TapPacker>> {};

/// Theirs leave what stands behind the last channel as it was, ours write zeros there.
TEST_P(KleidiaiTapPackers, WriteTheSameBytes) {
  const auto& [name, theirs, ours] = GetParam();
  const size_t bytes = value_bytes(name);
  std::mt19937 random(8);
  for (int i = 0; i < cases; ++i) {
    const size_t height = up_to(5, random);
    const size_t width = up_to(5, random);
    const size_t channels = up_to(3 * panel_of(bytes) + 2, random);
    const auto rhs = random_values(height * width * channels, bytes, false, random);
    const auto bias = random_values(channels, bytes, false, random);
    const size_t size = theirs.size(height, width, channels);
    ASSERT_EQ(ours.size(height, width, channels), size);
    const auto packed = [&](const TapPacker& packer, uint8_t before) {
      std::vector<uint8_t> all(size + 1, before);
      packer.run(height, width, height, channels, rhs.data(), bias.data(), all.data());
      return all;
    };
    const std::vector<uint8_t> right = packed(theirs, 0xa5);
    const std::vector<uint8_t> again = packed(theirs, 0x5a);
    const std::vector<uint8_t> mine = packed(ours, 0xa5);
    for (size_t at = 0; at < size; ++at) {
      ASSERT_EQ(mine[at], right[at] == again[at] ? right[at] : 0) << "byte " << at;
    }
    ASSERT_EQ(mine[size], 0xa5);
  }
}

TEST_P(KleidiaiTapPackers, RefuseTheSame) {
  const auto packer = [&](bool their) { return their ? GetParam().theirs : GetParam().ours; };
  const std::vector<uint8_t> from(1024);
  std::vector<uint8_t> packed(GetParam().theirs.size(3, 3, 5));
  const auto run = [&](bool t, size_t rhs_height, const void* rhs, const void* bias, void* to) {
    packer(t).run(3, 3, rhs_height, 5, rhs, bias, to);
  };
  const void* const it = from.data();
  const bool looks = value_bytes(GetParam().name) == 2;
  expect_both_refuse(false, [&](bool t) { run(t, 3, it, it, packed.data()); });
  expect_both_refuse(looks, [&](bool t) { run(t, 2, it, it, packed.data()); });
  expect_both_refuse(true, [&](bool t) { run(t, 3, nullptr, it, packed.data()); });
  expect_both_refuse(true, [&](bool t) { run(t, 3, it, nullptr, packed.data()); });
  expect_both_refuse(true, [&](bool t) { run(t, 3, it, it, nullptr); });
}

class KleidiaiDepthwise : public testing::TestWithParam<Both<DepthwiseName>> {};

struct DepthwiseCase {
  size_t bytes = 0;
  bool whole = false;
  Planes planes;
  std::vector<uint8_t> in, rhs, bias, packed;
};

constexpr size_t side = 3;  ///< of the window

DepthwiseCase random_case(const Both<DepthwiseName>& kernel, int number, std::mt19937& random) {
  DepthwiseCase it;
  it.bytes = value_bytes(kernel.name);
  it.whole = number % 2 == 0;
  Planes& p = it.planes;
  p.channels = up_to(3 * panel_of(it.bytes) + 3, random);
  p.rows = up_to(11, random);
  p.cols = up_to(number % 10 == 0 ? 300 : 21, random);
  if (number % 30 == 7) p.channels = 4096 / it.bytes + 5;
  p.top = random() % 2;
  p.left = random() % 2;
  const size_t bottom = random() % 2;
  const size_t right = random() % 2;
  // At least one output.
  p.rows = std::max(p.rows, side - p.top - bottom);
  p.cols = std::max(p.cols, side - p.left - right);
  p.dst_rows = p.rows + p.top + bottom - side + 1;
  p.dst_cols = p.cols + p.left + right - side + 1;
  const bool of_lines = kernel.theirs.of_lines;
  p.in_col_bytes = p.dst_col_bytes = p.channels * it.bytes;
  if (!of_lines) p.in_col_bytes += random() % 3 * it.bytes;
  if (!of_lines) p.dst_col_bytes += random() % 3 * it.bytes;
  p.in_row_bytes = p.cols * p.in_col_bytes;
  p.dst_row_bytes = p.dst_cols * p.dst_col_bytes;
  if (!of_lines) p.dst_row_bytes += random() % 3 * it.bytes;
  const bool narrow = random() % 3 == 0;
  const float most = it.bytes == 2 ? 65504 : 3e38F;
  p.min = narrow ? -0.5F : -most;
  p.max = narrow ? 0.75F : most;
  it.in = random_values(p.rows * p.in_row_bytes / it.bytes, it.bytes, it.whole, random);
  it.rhs = random_values(side * side * p.channels, it.bytes, it.whole, random);
  it.bias = random_values(p.channels, it.bytes, it.whole, random);
  for (const Both<TapPacker>& packer : tap_packers()) {
    if (value_bytes(packer.name) != it.bytes) continue;
    const TapPacker& by = number % 4 < 2 ? packer.ours : packer.theirs;
    it.packed.resize(by.size(side, side, p.channels));
    by.run(side, side, side, p.channels, it.rhs.data(), it.bias.data(), it.packed.data());
  }
  return it;
}

struct Exact {
  double value = 0, sizes = 0;
};

Exact exact_output(const DepthwiseCase& it, size_t row, size_t col, size_t channel) {
  const Planes& p = it.planes;
  Exact out{get(&it.bias[channel * it.bytes], it.bytes), 0};
  out.sizes = std::fabs(out.value);
  for (size_t tap = 0; tap < side * side; ++tap) {
    const size_t y = row + tap / side - p.top;
    const size_t x = col + tap % side - p.left;
    if (y >= p.rows || x >= p.cols) continue;
    const uint8_t* const pixel = &it.in[y * p.in_row_bytes + x * p.in_col_bytes];
    const double product = double{get(pixel + channel * it.bytes, it.bytes)} *
                           get(&it.rhs[(tap * p.channels + channel) * it.bytes], it.bytes);
    out.value += product;
    out.sizes += std::fabs(product);
  }
  out.value = std::clamp(out.value, double{p.min}, double{p.max});
  return out;
}

constexpr float untouched = 99;

std::vector<uint8_t> outputs(const DepthwiseName& kernel, const DepthwiseCase& it) {
  std::vector<uint8_t> out(it.planes.dst_rows * it.planes.dst_row_bytes);
  for (size_t at = 0; at < out.size(); at += it.bytes) put(&out[at], untouched, it.bytes);
  kernel.run(it.planes, it.in.data(), it.packed.data(), out.data());
  return out;
}

/// Sums of theirs are of the outputs' type, ours f32.
void compare(const DepthwiseCase& it, const std::vector<uint8_t>& ours,
             const std::vector<uint8_t>& theirs) {
  const Planes& p = it.planes;
  for (size_t at = 0; at < ours.size(); at += it.bytes) {
    const size_t row = at / p.dst_row_bytes;
    const size_t col = at % p.dst_row_bytes / p.dst_col_bytes;
    const size_t channel = at % p.dst_row_bytes % p.dst_col_bytes / it.bytes;
    const double found = get(&ours[at], it.bytes);
    if (col >= p.dst_cols || channel >= p.channels) {
      ASSERT_EQ(found, untouched) << "written between pixels";
      continue;
    }
    const Exact right = exact_output(it, row, col, channel);
    constexpr double roundings = 1.01 * (side * side + 2);
    const double half = it.bytes == 2 ? 0x1p-11 : 0;
    const double bound = it.whole ? 0 : right.sizes * (roundings * 0x1p-24 + half) + half * 0x1p-13;
    const double their_bound =
        it.whole ? 0
                 : roundings * right.sizes * (it.bytes == 2 ? 0x1p-11 : 0x1p-24) + half * 0x1p-13;
    ASSERT_LE(std::fabs(found - right.value), bound)
        << "row " << row << ", column " << col << ", channel " << channel << " instead of "
        << right.value;
    ASSERT_LE(std::fabs(found - get(&theirs[at], it.bytes)), bound + their_bound)
        << "row " << row << ", column " << col << ", channel " << channel;
  }
}

TEST_P(KleidiaiDepthwise, OutputsAreTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  ASSERT_EQ(ours.numbers, theirs.numbers);
  std::mt19937 random(9);
  for (int i = 0; i < cases; ++i) {
    const DepthwiseCase it = random_case(GetParam(), i, random);
    const Planes& p = it.planes;
    SCOPED_TRACE(testing::Message()
                 << p.rows << " x " << p.cols << " x " << p.channels << ", padded by " << p.top
                 << ", " << p.left << ", to " << p.dst_rows << " x " << p.dst_cols);
    compare(it, outputs(ours, it), outputs(theirs, it));
    if (HasFatalFailure()) return;
  }
}

/// Those of whole planes check nothing.
TEST_P(KleidiaiDepthwise, RefuseTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  if (!theirs.of_lines) return;
  std::mt19937 random(10);
  const DepthwiseCase it = random_case(GetParam(), 0, random);
  std::vector<uint8_t> out = outputs(ours, it);
  const auto expect = [&](bool refused, const Planes& planes, const uint8_t* in, const uint8_t* rhs,
                          uint8_t* dst) {
    expect_both_refuse(refused, [&, their = &theirs, our = &ours](bool t) {
      (t ? *their : *our).run(planes, in, rhs, dst);
    });
  };
  Planes apart = it.planes;
  apart.in_col_bytes += it.bytes;
  expect(false, it.planes, it.in.data(), it.packed.data(), out.data());
  expect(true, apart, it.in.data(), it.packed.data(), out.data());
  expect(true, it.planes, nullptr, it.packed.data(), out.data());
  expect(true, it.planes, it.in.data(), nullptr, out.data());
  expect(true, it.planes, it.in.data(), it.packed.data(), nullptr);
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KleidiaiTapPackers);
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KleidiaiDepthwise);
INSTANTIATE_TEST_SUITE_P(, KleidiaiTapPackers, testing::ValuesIn(tap_packers()),
                         [](const auto& it) { return it.param.name; });
INSTANTIATE_TEST_SUITE_P(, KleidiaiDepthwise, testing::ValuesIn(depthwise_names()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test::depthwise_test
