// Two products put together by the caller: the bits of a call for each.
#include "tilewright/gated.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/layer.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace tw::test {
namespace {

/// Families whose products are not added to what is there.
std::vector<Family> gated_families() {
  std::vector<Family> list = families();
  std::erase_if(list, [](const Family& family) { return family.accumulate; });
  return list;
}

/// What the caller's function keeps, and how often it has seen every value.
struct Seen {
  std::vector<uint8_t> gate, up;
  std::vector<int> times;
  size_t n = 0, value = 0;
};

void keep(const tw_gated_values* v) {
  auto* seen = static_cast<Seen*>(v->context);
  const size_t at = v->row * seen->n + v->column;
  std::memcpy(seen->gate.data() + at * seen->value, v->gate, v->count * seen->value);
  std::memcpy(seen->up.data() + at * seen->value, v->up, v->count * seen->value);
  for (size_t i = 0; i < v->count; ++i) ++seen->times[at + i];
}

/// A plan, its rows and both matrices of weights.
struct Pair {
  Pair(const Family& family, size_t rows, size_t columns, size_t depth, const tw_tuning& tuning)
      : layer(family, columns, depth, 0, tuning),
        m(rows),
        n(columns),
        lhs(rows * layer.lhs_row()),
        gate(layer.packed_weights(1)),
        up(layer.packed_weights(2)),
        args(layer.args()),
        gated(tilewright::sized<tw_gated>()) {
    layer.fill(lhs.data(), lhs.size(), 3);
    lhs_packed.resize(layer.plan().lhs_bytes(m));
    tw_lhs_source source = layer.source();
    source.data = lhs.data();
    source.data_bytes = lhs.size();
    source.stride = layer.lhs_row();
    for (size_t s = 0; s < layer.plan().lhs_slices(m); ++s) {
      layer.plan().pack_lhs(m, source, lhs_packed.data(), lhs_packed.size(), s);
    }
    const bool unpacked = lhs_packed.empty();
    args.m = m;
    args.lhs = unpacked ? lhs.data() : lhs_packed.data();
    args.lhs_bytes = unpacked ? lhs.size() : lhs_packed.size();
    args.lhs_stride = unpacked ? source.stride : 0;
    args.rhs = gate.data();
    args.rhs_bytes = gate.size();
    gated.up = up.data();
    gated.up_bias = args.bias;
    gated.each = keep;
    gated.context = &seen;
    seen.n = n;
    seen.value = layer.dst_row() / n;
    seen.gate.resize(m * layer.dst_row());
    seen.up.resize(m * layer.dst_row());
    seen.times.resize(m * n);
  }
  [[nodiscard]] size_t scratch_bytes() const {
    size_t bytes = 0;
    tilewright::check(tw_gated_scratch_bytes(layer.get(), m, &bytes));
    return bytes;
  }
  /// Every slice and two beyond, the last ones first.
  void run() {
    const GuardedBuffer scratch("scratch", scratch_bytes(), Flush::end);
    args.scratch = scratch.data();
    args.scratch_bytes = scratch.size();
    for (size_t s = layer.plan().run_slices(m) + 2; s-- > 0;) {
      tilewright::check(tw_gated_run(layer.get(), &gated, &args, s));
    }
  }
  [[nodiscard]] std::vector<uint8_t> product(const std::vector<uint8_t>& weights) const {
    std::vector<uint8_t> dst(m * layer.dst_row());
    layer.multiply(m, lhs.data(), layer.lhs_row(), weights, dst.data(), layer.dst_row());
    return dst;
  }

  Layer layer;
  size_t m, n;
  std::vector<uint8_t> lhs, gate, up, lhs_packed;
  tw_run_args args;
  tw_gated gated;
  Seen seen;
};

void expect_like_two_calls(const Family& family, size_t m, size_t n, const tw_tuning& tuning) {
  Pair pair(family, m, n, family.block != 0 ? 64 : 37, tuning);
  pair.run();
  const std::string what =
      to_string(family) + ", m " + std::to_string(m) + ", n " + std::to_string(n);
  EXPECT_EQ(pair.seen.times, std::vector<int>(m * n, 1)) << what;
  EXPECT_TRUE(pair.seen.gate == pair.product(pair.gate)) << what;
  EXPECT_TRUE(pair.seen.up == pair.product(pair.up)) << what;
}

/// Any two of rows, columns and sizes of slices; all three in long runs.
TEST(Gated, IsLikeTwoCalls) {
  for (const Family& family : gated_families()) {
    size_t turn = 0;
    for (const size_t m : {1, 7, 21, 130}) {
      for (const size_t n : {1, 40, 301}) {
        const bool is_small = turn++ % 2 == 0;
        if (is_long() || is_small) expect_like_two_calls(family, m, n, kSmallSlices);
        if (is_long() || !is_small) expect_like_two_calls(family, m, n, {});
      }
    }
  }
}

TEST(Gated, BiasIsEachOnesOwn) {
  const Family& family = families()[4];
  Pair pair(family, 3, 40, 32, kSmallSlices);
  std::vector<float> bias(40, 5);
  pair.gated.up_bias = bias.data();
  pair.run();
  EXPECT_TRUE(pair.seen.gate == pair.product(pair.gate));
  const std::vector<uint8_t> other = pair.seen.up;
  pair.args.bias = bias.data();
  pair.gated.up = pair.gate.data();
  pair.args.rhs = pair.up.data();
  pair.run();
  EXPECT_TRUE(pair.seen.gate == other);
}

/// Slices of more columns, and of more rows, than the caches hold.
TEST(Gated, SlicesMayBeLarge) {
  const std::vector<Family> list = gated_families();
  for (size_t i = 0; i < list.size(); i += is_long() ? 1 : 8) {
    const Family& family = list[i];
    expect_like_two_calls(family, 300, 1200, {1200, 300, 0, TW_ORDER_UNSET, TW_DECODE_UNSET});
    expect_like_two_calls(family, 17000, 40, {40, 17000, 0, TW_ORDER_UNSET, TW_DECODE_UNSET});
  }
}

/// However large the matrix is.
TEST(Gated, ScratchFitsTheCache) {
  tw_device device = tilewright::detect();
  const size_t most = std::max<size_t>(device.l2_bytes, size_t{1} << 20) / 2;
  for (const Family& family : gated_families()) {
    const Layer layer(family, 20000, 64, 0, {20000, 4000, 0, TW_ORDER_UNSET, TW_DECODE_UNSET});
    for (const size_t m : {1, 16, 4000}) {
      size_t bytes = 0;
      tilewright::check(tw_gated_scratch_bytes(layer.get(), m, &bytes));
      EXPECT_GT(bytes, 0U);
      EXPECT_LE(bytes, most);
    }
  }
}

TEST(Gated, NoRowsNeedNothing) {
  Pair pair(families()[0], 1, 40, 64, {});
  size_t bytes = 7;
  EXPECT_EQ(tw_gated_scratch_bytes(pair.layer.get(), 0, &bytes), TW_OK);
  EXPECT_EQ(bytes, 0U);
  pair.args.m = 0;
  EXPECT_EQ(tw_gated_run(pair.layer.get(), &pair.gated, &pair.args, 0), TW_OK);
}

class GatedErrors : public testing::Test {
 protected:
  GatedErrors() : scratch(pair.scratch_bytes()) {
    pair.args.scratch = scratch.data();
    pair.args.scratch_bytes = scratch.size();
  }
  void expect(tw_status want, const std::string& message) {
    EXPECT_EQ(tw_gated_run(pair.layer.get(), &pair.gated, &pair.args, 0), want);
    EXPECT_EQ(tw_error_message(), "tw_gated_run: " + message);
    EXPECT_EQ(pair.seen.times, std::vector<int>(pair.m * pair.n));
  }
  Pair pair{families()[4], 5, 40, 32, kSmallSlices};
  std::vector<uint8_t> scratch;
};

TEST_F(GatedErrors, Arguments) {
  const tw_run_args right = pair.args;
  const tw_gated right_gated = pair.gated;
  pair.args.scratch_bytes -= 1;
  expect(TW_TOO_SMALL, "args.scratch_bytes is " + std::to_string(pair.args.scratch_bytes) +
                           "; tw_gated_scratch_bytes, " + std::to_string(scratch.size()) +
                           ", are needed");
  pair.args.scratch = nullptr;
  expect(TW_INVALID, "args.scratch is null");
  pair.args = right;
  pair.args.dst_stride = 160;
  expect(TW_INVALID,
         "args.dst, dst_bytes or dst_stride is set; gated.each knows where outputs go, 0 is legal");
  pair.args = right;
  pair.args.rhs = nullptr;
  expect(TW_INVALID, "args.rhs is null");
  pair.args = right;
  pair.args.bias = nullptr;
  pair.args.bias_count = 39;
  expect(TW_TOO_SMALL, "up's args.bias_count is 39; one of each of n = 40 columns is needed");
  pair.args = right;
  pair.gated.up = nullptr;
  expect(TW_INVALID, "gated.up is null");
  pair.gated = right_gated;
  pair.gated.each = nullptr;
  expect(TW_INVALID, "gated.each is null");
  pair.gated.size = 3;
  expect(TW_INVALID, "gated.size is 3; sizeof(tw_gated) is legal");
  EXPECT_EQ(tw_gated_run(pair.layer.get(), &right_gated, nullptr, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_gated_run: args is null");
  EXPECT_EQ(tw_gated_run(pair.layer.get(), nullptr, &right, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_gated_run: gated is null");
  EXPECT_EQ(tw_gated_run(nullptr, &right_gated, &right, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_gated_run: plan is null");
  EXPECT_EQ(tw_gated_scratch_bytes(pair.layer.get(), 1, nullptr), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_gated_scratch_bytes: bytes is null");
}

TEST_F(GatedErrors, Plans) {
  size_t bytes = 7;
  const Layer taps(families()[4], 40, 32, 2);
  EXPECT_EQ(tw_gated_scratch_bytes(taps.get(), 5, &bytes), TW_INVALID);
  EXPECT_STREQ(tw_error_message(),
               "tw_gated_scratch_bytes: this plan's rows have 2 taps; plans without are legal");
  const auto adds = [](const Family& family) { return family.accumulate; };
  const Layer adding(*std::find_if(families().begin(), families().end(), adds), 40, 32);
  EXPECT_EQ(tw_gated_run(adding.get(), &pair.gated, &pair.args, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(),
               "tw_gated_run: this plan's products are added to outputs; others are legal");
}

}  // namespace
}  // namespace tw::test
