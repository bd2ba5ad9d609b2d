// Groups of rows, each with weights of its own: the bits of a call for each group.
#include "tilewright/groups.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <numeric>
#include <random>

#include "kernels/layer.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace tw::test::groups_test {
namespace {

constexpr uint8_t kOld = 0x3c;  ///< what outputs are before; a small float of any type
constexpr size_t kGap = 12;     ///< bytes between rows

enum class Rows {
  in_order,   ///< no lists
  same,       ///< outputs go where inputs are
  shared,     ///< inputs of several groups; two lists
  neighbors,  ///< lists of rows in order
  outputs_only
};

/// Some groups of `sizes` rows, the lists behind `first` entries that are nobody's.
struct Groups {
  Groups(const Family& family, size_t n, size_t k, const std::vector<size_t>& sizes, Rows rows,
         size_t first = 0, const tw_tuning& tuning = kSmallSlices)
      : layer(family, n, k, 0, tuning),
        starts{first},
        parts(sizes.size()),
        groups(tilewright::sized<tw_groups>()) {
    for (const size_t size : sizes) starts.push_back(starts.back() + size);
    const size_t entries = starts.back();
    lhs_count = rows == Rows::shared ? entries / 3 + 1 : entries + 2;
    dst_count = entries + 3;
    std::mt19937 random(static_cast<unsigned>(entries + n));
    std::vector<size_t> numbers(std::min(lhs_count, dst_count));
    std::iota(numbers.begin(), numbers.end(), size_t{0});
    if (rows != Rows::neighbors) std::shuffle(numbers.begin(), numbers.end(), random);
    if (rows == Rows::same || rows == Rows::neighbors) lhs_rows = numbers;
    if (rows == Rows::outputs_only) dst_rows = numbers;
    if (rows == Rows::shared) {
      for (size_t i = 0; i < entries; ++i) lhs_rows.push_back(random() % lhs_count);
      dst_rows.resize(dst_count);
      std::iota(dst_rows.begin(), dst_rows.end(), size_t{0});
      std::shuffle(dst_rows.begin(), dst_rows.end(), random);
    }
    for (size_t g = 0; g < sizes.size(); ++g) {
      weights.push_back(sizes[g] == 0 ? std::vector<uint8_t>()
                                      : layer.packed_weights(static_cast<unsigned>(g)));
      rhs.push_back(sizes[g] == 0 ? nullptr : weights[g].data());
    }
    lhs.resize((lhs_count - 1) * lhs_stride() + layer.lhs_row());
    layer.fill(lhs.data(), lhs.size(), 1);
    dst.assign((dst_count - 1) * dst_stride() + layer.dst_row(), kOld);
    groups.count = sizes.size();
    groups.starts = starts.data();
    groups.lhs_rows = lhs_rows.empty() ? nullptr : lhs_rows.data();
    groups.dst_rows = dst_rows.empty() ? nullptr : dst_rows.data();
    groups.list_count = entries;
    groups.lhs_row_count = lhs_count;
    groups.dst_row_count = dst_count;
    groups.rhs = rhs.data();
    groups.parts = parts.data();
  }

  [[nodiscard]] size_t lhs_stride() const { return layer.lhs_row() + kGap; }
  [[nodiscard]] size_t dst_stride() const { return layer.dst_row() + kGap; }
  [[nodiscard]] size_t lhs_row(size_t entry) const {
    return lhs_rows.empty() ? entry : lhs_rows[entry];
  }
  [[nodiscard]] size_t dst_row(size_t entry) const {
    return dst_rows.empty() ? lhs_row(entry) : dst_rows[entry];
  }
  [[nodiscard]] tw_lhs_source source() const {
    tw_lhs_source made = layer.source();
    made.data = lhs.data();
    made.data_bytes = lhs.size();
    made.stride = lhs_stride();
    return made;
  }
  [[nodiscard]] tw_run_args args(const std::vector<uint8_t>& packed) {
    const bool unpacked = packed.empty();
    tw_run_args made = layer.args();
    made.lhs = unpacked ? lhs.data() : packed.data();
    made.lhs_bytes = unpacked ? lhs.size() : packed.size();
    made.lhs_stride = unpacked ? lhs_stride() : 0;
    made.rhs_bytes = layer.plan().rhs_bytes();
    made.dst = dst.data();
    made.dst_bytes = dst.size();
    made.dst_stride = dst_stride();
    return made;
  }
  /// Every slice and two beyond, the last ones first, with what is left in scratch by others.
  void run() {
    tilewright::check(tw_groups_prepare(layer.get(), &groups));
    const GuardedBuffer scratch("scratch", groups.scratch_bytes, Flush::end);
    std::vector<uint8_t> packed(groups.lhs_bytes);
    tw_lhs_source rows = source();
    rows.scratch = scratch.data();
    rows.scratch_bytes = scratch.size();
    for (size_t s = groups.lhs_slices + 2; s-- > 0;) {
      tilewright::check(
          tw_groups_pack_lhs(layer.get(), &groups, &rows, packed.data(), packed.size(), s));
    }
    tw_run_args own = args(packed);
    own.scratch = scratch.data();
    own.scratch_bytes = scratch.size();
    for (size_t s = groups.run_slices + 2; s-- > 0;) {
      tilewright::check(tw_groups_run(layer.get(), &groups, &own, s));
    }
  }
  /// Group by group, from and to rows that lie in order.
  [[nodiscard]] std::vector<uint8_t> wanted() const {
    std::vector<uint8_t> outputs(dst.size(), kOld);
    const size_t in = layer.lhs_row();
    const size_t out = layer.dst_row();
    for (size_t g = 0; g < groups.count; ++g) {
      const size_t m = starts[g + 1] - starts[g];
      if (m == 0) continue;
      std::vector<uint8_t> from(m * in);
      std::vector<uint8_t> to(m * out, kOld);
      for (size_t i = 0; i < m; ++i) {
        std::memcpy(from.data() + i * in, lhs.data() + lhs_row(starts[g] + i) * lhs_stride(), in);
      }
      layer.multiply(m, from.data(), in, weights[g], to.data(), out);
      for (size_t i = 0; i < m; ++i) {
        std::memcpy(outputs.data() + dst_row(starts[g] + i) * dst_stride(), to.data() + i * out,
                    out);
      }
    }
    return outputs;
  }

  Layer layer;
  std::vector<size_t> starts, lhs_rows, dst_rows;
  std::vector<tw_group_part> parts;
  tw_groups groups;
  size_t lhs_count = 0, dst_count = 0;
  std::vector<uint8_t> lhs, dst;
  std::vector<std::vector<uint8_t>> weights;
  std::vector<const void*> rhs;
};

std::string sizes_text(const std::vector<size_t>& sizes) {
  std::string text;
  for (const size_t size : sizes) text += " " + std::to_string(size);
  return text;
}

constexpr Rows kAllRows[] = {Rows::in_order, Rows::same, Rows::shared, Rows::neighbors,
                             Rows::outputs_only};

/// Any two of sizes, columns and kinds of rows; all three in long runs.
TEST(Groups, AreLikeCallsOfTheirOwn) {
  const std::vector<std::vector<size_t>> all = {
      {}, {0}, {1}, {1, 1, 1, 1, 1}, {0, 7}, {0, 1, 5, 0, 21, 2, 0, 0}, {3, 0}, {40, 1, 13}};
  for (const Family& family : families()) {
    for (const std::vector<size_t>& sizes : all) {
      for (const size_t n : {1, 40, 101}) {
        for (const Rows rows : kAllRows) {
          const size_t turn = static_cast<size_t>(&sizes - all.data()) + n / 40;
          if (!is_long() && (turn + static_cast<size_t>(rows)) % 3 != 0) continue;
          Groups groups(family, n, family.block != 0 ? 96 : 37, sizes, rows, n % 2 * 2);
          groups.run();
          ASSERT_TRUE(groups.dst == groups.wanted())
              << to_string(family) << ", n " << n << ", rows " << static_cast<int>(rows)
              << ", groups of" << sizes_text(sizes);
        }
      }
    }
  }
}

/// More than what is copied at once.
TEST(Groups, MayHaveManyRows) {
  for (const Family& family : families()) {
    for (const Rows rows : {Rows::shared, Rows::outputs_only, Rows::in_order}) {
      Groups groups(family, 201, family.block != 0 ? 64 : 61, {301, 2}, rows, 0,
                    {201, 301, 0, TW_ORDER_UNSET, TW_DECODE_UNSET});
      groups.run();
      ASSERT_TRUE(groups.dst == groups.wanted())
          << to_string(family) << ", rows " << static_cast<int>(rows);
      EXPECT_LE(groups.groups.scratch_bytes, size_t{1} << 17);
    }
  }
}

/// Rows that are neighbors, above all single ones, are used where they are.
TEST(Groups, ScratchIsForRowsThatAreCopied) {
  for (const Family& family : families()) {
    const size_t k = 64;
    const auto scratch = [&](const std::vector<size_t>& sizes, Rows rows) {
      Groups groups(family, 40, k, sizes, rows);
      tilewright::check(tw_groups_prepare(groups.layer.get(), &groups.groups));
      return groups.groups.scratch_bytes;
    };
    EXPECT_EQ(scratch({1, 1, 0, 1}, Rows::shared), 0U);
    EXPECT_EQ(scratch({4, 9}, Rows::in_order), 0U);
    EXPECT_EQ(scratch({4, 9}, Rows::neighbors), 0U);
    EXPECT_GT(scratch({4, 9}, Rows::same), 0U);
  }
}

TEST(Groups, OtherWeightsFollowWithTheSameRows) {
  Groups groups(families()[4], 40, 64, {3, 8}, Rows::shared);
  groups.run();
  std::swap(groups.weights[0], groups.weights[1]);
  for (size_t g = 0; g < 2; ++g) groups.rhs[g] = groups.weights[g].data();
  std::fill(groups.dst.begin(), groups.dst.end(), kOld);
  const std::vector<tw_group_part> parts = groups.parts;
  groups.run();
  EXPECT_EQ(groups.dst, groups.wanted());
  EXPECT_EQ(groups.parts[1].lhs_offset, parts[1].lhs_offset);
}

class GroupErrors : public testing::Test {
 protected:
  GroupErrors() { prepare(); }
  void prepare() {
    ASSERT_EQ(tw_groups_prepare(made.layer.get(), &made.groups), TW_OK) << tw_error_message();
    packed.assign(made.groups.lhs_bytes, 0x55);
    scratch.resize(made.groups.scratch_bytes);
    source = made.source();
    source.scratch = scratch.data();
    source.scratch_bytes = scratch.size();
    args = made.args(packed);
    args.scratch = scratch.data();
    args.scratch_bytes = scratch.size();
  }
  void expect_prepare(tw_status want, const std::string& message) {
    EXPECT_EQ(tw_groups_prepare(made.layer.get(), &made.groups), want);
    EXPECT_EQ(tw_error_message(), "tw_groups_prepare: " + message);
    EXPECT_EQ(made.groups.run_slices, 0U);
  }
  void expect_pack(tw_status want, const std::string& message) {
    EXPECT_EQ(tw_groups_pack_lhs(made.layer.get(), &made.groups, &source, packed.data(),
                                 packed.size(), 0),
              want);
    EXPECT_EQ(tw_error_message(), "tw_groups_pack_lhs: " + message);
    EXPECT_EQ(packed, std::vector<uint8_t>(packed.size(), 0x55));
  }
  void expect_run(tw_status want, const std::string& message) {
    EXPECT_EQ(tw_groups_run(made.layer.get(), &made.groups, &args, 0), want);
    EXPECT_EQ(tw_error_message(), "tw_groups_run: " + message);
    EXPECT_EQ(made.dst, std::vector<uint8_t>(made.dst.size(), kOld));
  }
  Groups made{families()[4], 40, 32, {3, 0, 8}, Rows::shared};
  std::vector<uint8_t> packed, scratch;
  tw_lhs_source source;
  tw_run_args args;
};

TEST_F(GroupErrors, Lists) {
  made.groups.run_slices = 0;
  made.lhs_rows[4] = 4;
  expect_prepare(TW_INVALID, "groups.lhs_rows[4] is 4; groups.lhs_row_count, 4, is above all");
  made.lhs_rows[4] = SIZE_MAX;
  expect_prepare(TW_INVALID, "groups.lhs_rows[4] is " + std::to_string(SIZE_MAX) +
                                 "; groups.lhs_row_count, 4, is above all");
  made.lhs_rows[4] = 0;
  made.dst_rows[10] = 14;
  expect_prepare(TW_INVALID, "groups.dst_rows[10] is 14; groups.dst_row_count, 14, is above all");
  made.groups.list_count = 10;
  expect_prepare(TW_TOO_SMALL, "groups.list_count is 10; groups.starts ends with 11");
  made.groups.dst_rows = nullptr;
  made.groups.lhs_rows = nullptr;
  expect_prepare(TW_INVALID,
                 "groups.lhs_rows is null, entry 4 is a row of its own; groups.lhs_row_count is 4");
  made.starts[1] = 12;
  expect_prepare(TW_INVALID,
                 "groups.starts[2] is 3, below groups.starts[1], 12; ascending ones are legal");
  made.groups.starts = nullptr;
  expect_prepare(TW_INVALID, "groups.starts is null");
  made.groups.starts = made.starts.data();
  made.groups.parts = nullptr;
  expect_prepare(TW_INVALID, "groups.parts is null");
  made.groups.size = 2;
  expect_prepare(TW_INVALID, "groups.size is 2; sizeof(tw_groups) is legal");
  EXPECT_EQ(tw_groups_prepare(made.layer.get(), nullptr), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_groups_prepare: groups is null");
  EXPECT_EQ(tw_groups_prepare(nullptr, &made.groups), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_groups_prepare: plan is null");
}

TEST_F(GroupErrors, PlansWithTaps) {
  const Layer taps(families()[4], 40, 32, 2);
  EXPECT_EQ(tw_groups_prepare(taps.get(), &made.groups), TW_INVALID);
  EXPECT_STREQ(tw_error_message(),
               "tw_groups_prepare: this plan's rows have 2 taps; plans without are legal");
}

TEST_F(GroupErrors, Pack) {
  const tw_lhs_source right = source;
  const std::string needed = std::to_string(scratch.size());
  source.scratch_bytes -= 1;
  expect_pack(TW_TOO_SMALL, "source.scratch_bytes is " + std::to_string(source.scratch_bytes) +
                                "; groups.scratch_bytes, " + needed + ", are needed");
  source.scratch = nullptr;
  expect_pack(TW_INVALID, "source.scratch is null");
  source = right;
  source.data = nullptr;
  expect_pack(TW_INVALID, "source.data is null");
  source = right;
  source.data_bytes -= 1;
  EXPECT_EQ(
      tw_groups_pack_lhs(made.layer.get(), &made.groups, &source, packed.data(), packed.size(), 0),
      TW_TOO_SMALL);
  EXPECT_EQ(tw_groups_pack_lhs(made.layer.get(), &made.groups, &right, packed.data(),
                               packed.size() - 1, 0),
            TW_TOO_SMALL);
  EXPECT_EQ(
      tw_groups_pack_lhs(made.layer.get(), &made.groups, nullptr, packed.data(), packed.size(), 0),
      TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_groups_pack_lhs: source is null");
  const Layer other(families()[4], 40, 32);
  EXPECT_EQ(tw_groups_pack_lhs(other.get(), &made.groups, &right, packed.data(), packed.size(), 0),
            TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_groups_pack_lhs: groups are not prepared for this plan");
}

TEST_F(GroupErrors, Run) {
  const tw_run_args right = args;
  args.scratch_bytes = 0;
  expect_run(TW_TOO_SMALL, "args.scratch_bytes is 0; groups.scratch_bytes, " +
                               std::to_string(scratch.size()) + ", are needed");
  args.scratch = nullptr;
  expect_run(TW_INVALID, "args.scratch is null");
  args = right;
  args.lhs = nullptr;
  expect_run(TW_INVALID, "args.lhs is null");
  args = right;
  args.lhs_bytes -= 1;
  expect_run(TW_TOO_SMALL, "args.lhs_bytes is " + std::to_string(args.lhs_bytes) +
                               ", args.lhs_stride is 0; what tw_groups_pack_lhs packed has " +
                               std::to_string(right.lhs_bytes) + " and 0");
  args = right;
  args.rhs_bytes -= 1;
  expect_run(TW_TOO_SMALL, "args.rhs_bytes is " + std::to_string(args.rhs_bytes) +
                               "; this plan needs " + std::to_string(right.rhs_bytes));
  args = right;
  args.dst_bytes -= 1;
  expect_run(TW_TOO_SMALL, "args.dst_bytes is " + std::to_string(args.dst_bytes) +
                               "; m = 14 rows need " + std::to_string(right.dst_bytes));
  args = right;
  args.dst = nullptr;
  expect_run(TW_INVALID, "args.dst is null");
  args = right;
  made.rhs[2] = nullptr;
  expect_run(TW_INVALID, "groups.rhs[2] is null; the group has 8 rows");
  made.groups.rhs = nullptr;
  expect_run(TW_INVALID, "groups.rhs is null");
  EXPECT_EQ(tw_groups_run(made.layer.get(), &made.groups, nullptr, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_groups_run: args is null");
  made.groups.plan = nullptr;
  expect_run(TW_INVALID, "groups are not prepared for this plan");
}

TEST_F(GroupErrors, RowsThatAreNotPacked) {
  Groups floats(families()[0], 40, 32, {3, 8}, Rows::shared);
  tilewright::check(tw_groups_prepare(floats.layer.get(), &floats.groups));
  std::vector<uint8_t> memory(floats.groups.scratch_bytes);
  tw_run_args own = floats.args({});
  own.scratch = memory.data();
  own.scratch_bytes = memory.size();
  own.lhs_bytes -= 1;
  EXPECT_EQ(tw_groups_run(floats.layer.get(), &floats.groups, &own, 0), TW_TOO_SMALL);
  EXPECT_EQ(tw_error_message(), "tw_groups_run: args.lhs_bytes is " +
                                    std::to_string(own.lhs_bytes) + "; m = 4 unpacked rows need " +
                                    std::to_string(own.lhs_bytes + 1));
}

}  // namespace
}  // namespace tw::test::groups_test
