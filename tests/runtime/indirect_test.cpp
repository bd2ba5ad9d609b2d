// Rows that are gathered from tables: what is packed of them, and every mistake in a table.
#include <gtest/gtest.h>

#include <limits>

#include "runtime/devices.h"
#include "runtime/problem.h"
#include "tilewright/convolution.h"

namespace tw::test::indirect_test {
namespace {

constexpr size_t kTaps = 5, kLength = 9, kDepth = kTaps * kLength;
constexpr float kPad = 1.5F;

tw_matmul with_taps(size_t taps = kTaps) {
  tw_matmul matmul = TestPlan::basic(40, kDepth);
  matmul.taps = taps;
  return matmul;
}

/// Taps in an order of their own, some of them neighbors, `offset` before where they are; one is
/// the pad.
struct Table {
  Table(const Problem& problem, size_t tile, size_t offset)
      : pad(kLength, kPad), indirect(tilewright::sized<tw_indirect>()) {
    const size_t m = problem.matmul.m;
    const auto* first = reinterpret_cast<const char*>(problem.matmul.lhs.data());
    rows.resize((m + tile - 1) / tile * tile * kTaps);
    for (size_t i = 0; i < m; ++i) {
      for (size_t t = 0; t < kTaps; ++t) {
        const size_t tap = i * kTaps + (i % 2 == 0 ? t : kTaps - 1 - t);
        const void*& entry = rows[(i / tile * kTaps + t) * tile + i % tile];
        entry = first + tap * kLength * sizeof(float) - offset;
        if (i == 1 && t == 2) entry = pad.data();
      }
    }
    indirect.rows = rows.data();
    indirect.row_count = rows.size();
    indirect.tile = tile;
    indirect.offset = offset;
    indirect.pad = pad.data();
  }
  /// What the table says.
  [[nodiscard]] static Problem gathered(const Problem& problem) {
    Problem made = problem;
    for (size_t i = 0; i < made.matmul.lhs.size(); ++i) {
      const size_t row = i / kDepth;
      const size_t tap = i / kLength % kTaps;
      const size_t from = row * kTaps + (row % 2 == 0 ? tap : kTaps - 1 - tap);
      made.matmul.lhs[i] = problem.matmul.lhs[from * kLength + i % kLength];
      if (row == 1 && tap == 2) made.matmul.lhs[i] = kPad;
    }
    return made;
  }

  std::vector<float> pad;
  std::vector<const void*> rows;
  tw_indirect indirect;
};

std::vector<char> pack(const TestPlan& plan, size_t m, tw_lhs_source source) {
  std::vector<char> packed(plan.lhs_bytes(m), 0x55);
  size_t scratch_bytes = 0;
  EXPECT_EQ(tw_scratch_bytes(plan.get(), m, &scratch_bytes), TW_OK);
  for (size_t s = tilewright::lhs_slices(plan.get(), m); s-- > 0;) {
    std::vector<char> scratch(scratch_bytes, 0x33);
    source.scratch = scratch.data();
    source.scratch_bytes = scratch.size();
    EXPECT_EQ(tw_pack_lhs(plan.get(), m, &source, packed.data(), packed.size(), s), TW_OK)
        << tw_error_message();
  }
  return packed;
}

TEST(Indirect, IsPackedLikeRows) {
  for (const tw_device& device : {zen4(), neoverse_v1(), plain()}) {
    const TestPlan direct(device, with_taps(0));
    const TestPlan plan(device, with_taps());
    for (const size_t m : {1, 4, 5, 13, 40}) {
      const Problem problem(m, 40, kDepth);
      const std::vector<char> wanted = pack(direct, m, Table::gathered(problem).lhs_source());
      for (const size_t tile : {1, 3, 4, 8, 64}) {
        const Table table(problem, tile, tile % 3 * 4);
        auto source = tilewright::sized<tw_lhs_source>();
        source.indirect = &table.indirect;
        EXPECT_EQ(pack(plan, m, source), wanted) << device.name << " " << m << " " << tile;
      }
    }
  }
}

/// What no thread gathers needs no memory; a slice's rows are few however many there are.
TEST(Indirect, ScratchIsForASlice) {
  const auto bytes = [](const TestPlan& plan, size_t m) {
    size_t found = 77;
    EXPECT_EQ(tw_scratch_bytes(plan.get(), m, &found), TW_OK);
    return found;
  };
  EXPECT_EQ(bytes(TestPlan(zen4(), with_taps(0)), 1000), 0U);
  const TestPlan plan(zen4(), with_taps());
  EXPECT_EQ(bytes(plan, 0), 0U);
  EXPECT_EQ(bytes(plan, 16), 16 * kDepth * sizeof(float));
  EXPECT_EQ(bytes(plan, 1000), 16 * kDepth * sizeof(float));
  tw_matmul deep = with_taps();
  deep.k = 10000;
  EXPECT_EQ(bytes(TestPlan(zen4(), deep), 1000), 8 * 10000 * sizeof(float));  // a panel
  deep.k = 1000;
  EXPECT_EQ(bytes(TestPlan(plain(), deep), 1000), 8 * 1000 * sizeof(float));  // 32 KiB hold them
}

/// Packs `source` to 0x55s, of which none may change.
void expect(const TestPlan& plan, const tw_lhs_source& source, tw_status want,
            const std::string& message) {
  std::vector<char> packed(plan.lhs_bytes(13), 0x55);
  EXPECT_EQ(tw_pack_lhs(plan.get(), 13, &source, packed.data(), packed.size(), 0), want);
  EXPECT_EQ(tw_error_message(), "tw_pack_lhs: source" + message);
  EXPECT_EQ(packed, std::vector<char>(packed.size(), 0x55));
}

TEST(Indirect, MistakesInTables) {
  const Problem problem(13, 40, kDepth);
  const TestPlan plan(zen4(), with_taps());
  std::vector<char> scratch(16 * kDepth * sizeof(float));
  Table table(problem, 4, 0);
  auto source = tilewright::sized<tw_lhs_source>();
  expect(plan, source, TW_INVALID, ".indirect is null; this plan's rows have 5 taps");
  source.indirect = &table.indirect;
  expect(plan, source, TW_INVALID, ".scratch is null");
  source.scratch = scratch.data();
  source.scratch_bytes = 13 * kDepth * sizeof(float) - 1;
  expect(plan, source, TW_TOO_SMALL,
         ".scratch_bytes is 2339; m = 13 rows need what tw_scratch_bytes says");
  source.scratch_bytes = scratch.size();
  table.rows[17] = nullptr;
  expect(plan, source, TW_INVALID,
         ".indirect.rows[17] is null, tap 4 of row 1; a row, or pad, is legal");
  table.rows[17] = table.rows[18];
  table.indirect.row_count = 79;
  expect(plan, source, TW_TOO_SMALL,
         ".indirect.row_count is 79; m = 13 rows of 5 taps in tiles of 4 need 80");
  table.indirect.tile = 0;
  expect(plan, source, TW_INVALID, ".indirect.tile is 0; at least 1 row is legal");
  table.indirect.tile = SIZE_MAX / 4;
  expect(plan, source, TW_TOO_LARGE,
         ".indirect.tile is " + std::to_string(SIZE_MAX / 4) +
             "; tiles of m = 13 rows of 5 taps overflow the address space");
  table.indirect.rows = nullptr;
  expect(plan, source, TW_INVALID, ".indirect.rows is null");
  table.indirect.size = 3;
  expect(plan, source, TW_INVALID, ".indirect.size is 3; sizeof(tw_indirect) is legal");

  const TestPlan direct(zen4(), with_taps(0));
  source = problem.lhs_source();
  source.indirect = &table.indirect;
  expect(direct, source, TW_INVALID,
         ".indirect is set; this plan's rows have no taps, null is legal");

  EXPECT_EQ(TestPlan(zen4(), with_taps(7)).status, TW_INVALID);
  EXPECT_STREQ(tw_error_message(),
               "tw_plan_create: matmul.k is 45; multiples of matmul.taps, 7, are legal");
  EXPECT_EQ(tw_scratch_bytes(nullptr, 1, nullptr), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_scratch_bytes: plan is null");
}

TEST(Indirect, ThePartialLastTileIsNotRead) {
  const Problem problem(13, 40, kDepth);
  const TestPlan plan(zen4(), with_taps());
  Table table(problem, 8, 0);
  auto source = tilewright::sized<tw_lhs_source>();
  source.indirect = &table.indirect;
  const std::vector<char> wanted = pack(plan, 13, source);
  for (size_t t = 0; t < kTaps; ++t) {
    for (size_t i = 5; i < 8; ++i) table.rows[(kTaps + t) * 8 + i] = nullptr;
  }
  EXPECT_EQ(pack(plan, 13, source), wanted);
}

tw_convolution convolution() {
  auto made = tilewright::sized<tw_convolution>();
  made.height = 4;
  made.width = 6;
  made.pixel_bytes = 8;
  made.kernel_height = made.kernel_width = 3;
  return made;
}

tw_convolution_outputs part_of(const tw_convolution& whole, size_t part = 0) {
  auto found = tilewright::sized<tw_convolution_outputs>();
  EXPECT_EQ(tw_convolution_part(&whole, part, &found), TW_OK) << tw_error_message();
  return found;
}

TEST(ConvolutionTable, OnlyOneByOneIsPlain) {
  tw_convolution c = convolution();
  EXPECT_EQ(part_of(c).plain, 0);
  EXPECT_EQ(part_of(c).lines, 2U);
  EXPECT_EQ(part_of(c).columns, 4U);
  EXPECT_EQ(part_of(c).taps, 9U);
  c.kernel_height = c.kernel_width = 1;
  EXPECT_EQ(part_of(c).plain, 1);
  c.stride_width = 2;
  EXPECT_EQ(part_of(c).plain, 0);
  c.stride_width = 1;
  c.right = 1;
  EXPECT_EQ(part_of(c).plain, 0);
  c.right = 0;
  c.line_bytes = 50;
  EXPECT_EQ(part_of(c).plain, 0);
}

/// The last tile's rows that do not exist are its last one again; lines may have gaps.
TEST(ConvolutionTable, EndsWithWholeTiles) {
  tw_convolution c = convolution();
  c.width = 3;
  c.line_bytes = 40;
  c.kernel_height = 2;
  const std::vector<char> input(4 * 40);
  std::vector<const void*> rows(4 * 6);
  ASSERT_EQ(tw_convolution_rows(&c, 0, input.data(), nullptr, 4, rows.data(), rows.size()), TW_OK)
      << tw_error_message();
  for (size_t t = 0; t < 6; ++t) {
    for (size_t i = 0; i < 4; ++i) {
      const size_t line = std::min<size_t>(i, 2) + t / 3;
      EXPECT_EQ(rows[t * 4 + i], input.data() + line * 40 + t % 3 * 8);
    }
  }
}

TEST(ConvolutionTable, PartsOfATransposedOne) {
  tw_convolution c = convolution();
  c.transposed = 1;
  c.stride_height = 2;
  c.stride_width = 4;
  const size_t lines[] = {5, 4};
  const size_t columns[] = {6, 6, 6, 5};
  const size_t taps[] = {2, 1, 1, 1, 1, 1, 1, 1};  // (2, 1) x (1, 1, 1, 0)
  for (size_t part = 0; part < 8; ++part) {
    const tw_convolution_outputs found = part_of(c, part);
    EXPECT_EQ(found.parts, 8U);
    EXPECT_EQ(found.height, 9U);
    EXPECT_EQ(found.width, 23U);
    EXPECT_EQ(found.line, part / 4);
    EXPECT_EQ(found.column, part % 4);
    EXPECT_EQ(found.lines, lines[part / 4]);
    EXPECT_EQ(found.columns, columns[part % 4]);
    EXPECT_EQ(found.line_step, 2U);
    EXPECT_EQ(found.column_step, 4U);
    EXPECT_EQ(found.taps, part < 3 ? 2U : taps[part]) << part;
  }
}

void expect_rows(const tw_convolution& c, size_t part, const void* pad, size_t tile, size_t count,
                 tw_status want, const std::string& message) {
  const std::vector<char> input(4 * 6 * 8);
  std::vector<const void*> rows(200, &rows);
  EXPECT_EQ(tw_convolution_rows(&c, part, input.data(), pad, tile, rows.data(), count), want);
  EXPECT_EQ(tw_error_message(), "tw_convolution_rows: " + message);
  EXPECT_EQ(rows, std::vector<const void*>(200, &rows));
}

TEST(ConvolutionTable, Mistakes) {
  tw_convolution c = convolution();
  expect_rows(c, 0, nullptr, 4, 71, TW_TOO_SMALL,
              "row_count is 71; 2 x 4 outputs of 9 taps in tiles of 4 need 72");
  expect_rows(c, 0, nullptr, 0, 72, TW_INVALID, "tile is 0; 1 or more is legal");
  expect_rows(c, 1, nullptr, 1, 72, TW_INVALID, "part is 1; the convolution has 1");
  expect_rows(c, 0, nullptr, SIZE_MAX / 4, 72, TW_TOO_LARGE, "2 x 4 outputs of 9 taps overflow");
  c.bottom = 1;
  expect_rows(c, 0, nullptr, 1, 200, TW_INVALID,
              "pad is null; the kernel reaches beyond the input");
  c.bottom = 0;
  const auto none = [&](const std::string& sizes) {
    expect_rows(
        c, 0, nullptr, 1, 200, TW_INVALID,
        "convolution has no outputs, or too many: " + sizes + " (top, bottom, left, right)");
  };
  c.dilation_width = 3;
  none("4 x 6 pixels of 8 bytes, kernel 3 x 3, padding 0 0 0 0");
  c.dilation_width = 1;
  c.pixel_bytes = 0;
  none("4 x 6 pixels of 0 bytes, kernel 3 x 3, padding 0 0 0 0");
  c.pixel_bytes = 8;
  c.kernel_height = 0;
  none("4 x 6 pixels of 8 bytes, kernel 0 x 3, padding 0 0 0 0");
  c.kernel_height = 3;
  c.transposed = 1;
  c.top = c.bottom = 3;
  none("4 x 6 pixels of 8 bytes, kernel 3 x 3, padding 3 3 0 0");
  c = convolution();
  c.top = SIZE_MAX;
  none("4 x 6 pixels of 8 bytes, kernel 3 x 3, padding " + std::to_string(SIZE_MAX) + " 0 0 0");
  c.size = 1;
  expect_rows(c, 0, nullptr, 1, 200, TW_INVALID,
              "convolution.size is 1; sizeof(tw_convolution) is legal");
}

TEST(ConvolutionTable, WeightsAreChecked) {
  tw_convolution c = convolution();
  c.transposed = 1;
  c.stride_height = c.stride_width = 2;
  const std::vector<char> weights(5 * 9 * 3);
  std::vector<char> split(5 * 4 * 3);
  const auto copy = [&](size_t bytes, size_t columns, size_t split_bytes) {
    return tw_convolution_weights(&c, 0, weights.data(), bytes, columns, 3, split.data(),
                                  split_bytes);
  };
  EXPECT_EQ(copy(135, 5, 60), TW_OK);
  const std::string needed = "; 135 and 60 are needed";
  EXPECT_EQ(copy(134, 5, 60), TW_TOO_SMALL);
  EXPECT_EQ(tw_error_message(),
            "tw_convolution_weights: weight_bytes is 134, split_bytes is 60" + needed);
  EXPECT_EQ(copy(135, 5, 59), TW_TOO_SMALL);
  EXPECT_EQ(copy(135, SIZE_MAX, 60), TW_TOO_LARGE);
  EXPECT_EQ(tw_convolution_weights(&c, 0, nullptr, 135, 5, 3, split.data(), 60), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_convolution_weights: weights is null");
}

}  // namespace
}  // namespace tw::test::indirect_test
