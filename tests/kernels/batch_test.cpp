// Batches of matrices: the bits of one call each.
#include "tilewright/batch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "kernels/layer.h"
#include "support/environment.h"
#include "support/guarded_buffer.h"

namespace tw::test::batch_test {
namespace {

constexpr uint8_t kOld = 0x3c;  ///< what outputs are before; a small float of any type

struct BatchCase {
  size_t count, m, n, k;
  bool same_lhs = false, same_rhs = false;
  size_t repeat = 0;
  bool side_by_side = false;
  size_t gap = 0;  ///< bytes between rows, and between matrices
};

std::string to_string(const BatchCase& c) {
  return std::to_string(c.count) + " x " + std::to_string(c.m) + " x " + std::to_string(c.n) +
         " x " + std::to_string(c.k) + (c.same_lhs ? ", one lhs" : "") +
         (c.same_rhs ? ", one rhs" : "") + ", repeat " + std::to_string(c.repeat) +
         (c.side_by_side ? ", side by side" : "") + ", gap " + std::to_string(c.gap);
}

/// All operands of a batch, and it as one.
struct Batch {
  Batch(const Family& family, const BatchCase& c)
      : layer(family, c.n, c.k),
        test(c),
        lhs_stride(layer.lhs_row() + c.gap),
        dst_stride((c.side_by_side ? c.count * (layer.dst_row() + c.gap) : layer.dst_row()) +
                   c.gap),
        batch(tilewright::sized<tw_batch>()),
        lhs("lhs", size_of(c.same_lhs ? 1 : c.count, lhs_matrix(), c.gap), Flush::end),
        dst("dst", dst_bytes(), Flush::end),
        packed("packed", size_of(c.same_lhs ? 1 : c.count, layer.plan().lhs_bytes(c.m), c.gap),
               Flush::end) {
    layer.fill(lhs.data(), lhs.size(), 1);
    dst.fill(kOld);
    const size_t share = c.repeat == 0 ? 1 : c.repeat;
    for (size_t i = 0; i < (c.same_rhs ? 1 : (c.count + share - 1) / share); ++i) {
      weights.push_back(layer.packed_weights(static_cast<unsigned>(i)));
      rhs.insert(rhs.end(), weights[i].begin(), weights[i].end());
    }
    batch.count = c.count;
    batch.source_stride = c.same_lhs ? 0 : lhs_matrix() + c.gap;
    batch.lhs_stride = c.same_lhs ? 0 : packed.size() == 0 ? batch.source_stride : packed_stride();
    batch.rhs_stride = c.same_rhs ? 0 : layer.plan().rhs_bytes();
    batch.rhs_repeat = c.repeat;
    batch.dst_stride = dst_matrix();
  }

  static size_t size_of(size_t count, size_t matrix, size_t gap) {
    return matrix == 0 || count == 0 ? 0 : count * (matrix + gap) - gap;
  }
  [[nodiscard]] size_t lhs_matrix() const { return (test.m - 1) * lhs_stride + layer.lhs_row(); }
  [[nodiscard]] size_t packed_stride() const { return layer.plan().lhs_bytes(test.m) + test.gap; }
  [[nodiscard]] size_t dst_matrix() const {
    return test.side_by_side ? layer.dst_row() + test.gap : test.m * dst_stride + test.gap;
  }
  [[nodiscard]] size_t dst_bytes() const {
    if (test.count == 0) return 0;
    return (test.count - 1) * dst_matrix() + (test.m - 1) * dst_stride + layer.dst_row();
  }
  [[nodiscard]] tw_lhs_source source() const {
    tw_lhs_source made = layer.source();
    made.data = lhs.data();
    made.data_bytes = lhs.size();
    made.stride = lhs_stride;
    return made;
  }
  [[nodiscard]] tw_run_args args() const {
    const bool unpacked = packed.size() == 0;
    tw_run_args made = layer.args();
    made.m = test.m;
    made.lhs = unpacked ? lhs.data() : packed.data();
    made.lhs_bytes = unpacked ? lhs.size() : packed.size();
    made.lhs_stride = unpacked ? lhs_stride : 0;
    made.rhs = rhs.data();
    made.rhs_bytes = rhs.size();
    made.dst = dst.data();
    made.dst_bytes = dst.size();
    made.dst_stride = dst_stride;
    return made;
  }
  /// Every slice and two beyond, the last ones first.
  void run() const {
    const tw_lhs_source rows = source();
    const tw_run_args own = args();
    size_t slices = 0;
    tilewright::check(tw_batch_lhs_slices(layer.get(), test.m, &batch, &slices));
    for (size_t s = slices + 2; s-- > 0;) {
      tilewright::check(
          tw_batch_pack_lhs(layer.get(), test.m, &batch, &rows, packed.data(), packed.size(), s));
    }
    tilewright::check(tw_batch_slices(layer.get(), test.m, &batch, &slices));
    for (size_t s = slices + 2; s-- > 0;) {
      tilewright::check(tw_batch_run(layer.get(), &batch, &own, s));
    }
  }
  /// One by one.
  [[nodiscard]] std::vector<uint8_t> wanted() const {
    std::vector<uint8_t> outputs(dst.size(), kOld);
    for (size_t i = 0; i < test.count; ++i) {
      const size_t matrix = test.same_rhs ? 0 : i / (test.repeat == 0 ? 1 : test.repeat);
      layer.multiply(test.m, lhs.data() + i * batch.source_stride, lhs_stride, weights[matrix],
                     outputs.data() + i * dst_matrix(), dst_stride);
    }
    return outputs;
  }

  Layer layer;
  BatchCase test;
  size_t lhs_stride, dst_stride;
  tw_batch batch;
  GuardedBuffer lhs, dst, packed;
  std::vector<std::vector<uint8_t>> weights;
  std::vector<uint8_t> rhs;
};

void expect_like_single_calls(const Family& family, const BatchCase& c) {
  const Batch batch(family, c);
  batch.run();
  const std::vector<uint8_t> found(batch.dst.data(), batch.dst.data() + batch.dst.size());
  EXPECT_EQ(found == batch.wanted(), true) << to_string(family) << ": " << to_string(c);
}

/// All kinds of batches with each count of rows and with each of columns; all three in long runs.
TEST(Batch, IsLikeSingleCalls) {
  for (const Family& family : families()) {
    const size_t k = family.block != 0 ? 96 : 37;
    size_t turn = 0;
    for (const size_t m : {1, 2, 7, 21}) {
      for (const size_t n : {1, 40, 101}) {
        const BatchCase kinds[] = {
            {0, m, n, k, false, false, 0, m % 2 == 0, n % 8 * 4},
            {1, m, n, k, false, false, 0, m % 2 == 0, n % 8 * 4},
            {2, m, n, k, false, false, 0, m % 2 == 0, n % 8 * 4},
            {5, m, n, k, true, false, 0, n == 40, 4},
            {5, m, n, k, false, true, 0, n != 40, 0},
            {9, m, n, k, false, false, 0, m % 2 == 0, n % 8 * 4},
            {7, m, n, k, false, false, 3, false, 8},
            {4, m, n, k, true, true, 0, true, 8},
        };
        for (size_t kind = 0; kind < std::size(kinds); ++kind) {
          if (is_long() || (kind + turn) % 2 == 0) expect_like_single_calls(family, kinds[kind]);
        }
        ++turn;
      }
    }
  }
}

/// However many matrices there are; more cores have more slices, never as many as of all matrices.
TEST(Batch, SlicesAreFew) {
  const Layer layer(families()[4], 320, 64);
  const size_t each = layer.plan().run_slices(20);
  ASSERT_GT(each, 1U);
  auto batch = tilewright::sized<tw_batch>();
  const tw_device device = tilewright::detect();
  size_t slices = 0;
  for (const size_t count : {size_t{0}, size_t{1}, size_t{100000}}) {
    batch.count = count;
    batch.lhs_stride = batch.dst_stride = 1 << 20;
    ASSERT_EQ(tw_batch_slices(layer.get(), 20, &batch, &slices), TW_OK);
    EXPECT_EQ(slices, std::min(each * count, 16 * tw_device_cores(&device)));
    ASSERT_EQ(tw_batch_lhs_slices(layer.get(), 20, &batch, &slices), TW_OK);
    EXPECT_EQ(slices, std::min(layer.plan().lhs_slices(20) * count, 16 * tw_device_cores(&device)));
  }
  batch.lhs_stride = 0;
  ASSERT_EQ(tw_batch_lhs_slices(layer.get(), 20, &batch, &slices), TW_OK);
  EXPECT_EQ(slices, std::min(layer.plan().lhs_slices(20), 16 * tw_device_cores(&device)));
}

/// Images that share a table of pointers, whether packing or running gathers them.
TEST(Batch, ImagesShareATable) {
  constexpr size_t kTaps = 3, kRows = 11, kImages = 4, kDepth = 33, kColumns = 35;
  for (const Family& family : {families()[0], families()[4]}) {
    const Layer layer(family, kColumns, kDepth, kTaps);
    const Layer plain(family, kColumns, kDepth);
    const size_t tap = layer.lhs_row() / kTaps;
    const size_t image = (kRows + 2) * tap;  // row i is pixels i, i + 1, i + 2
    std::vector<uint8_t> input(kImages * image);
    layer.fill(input.data(), input.size(), 3);
    std::vector<const void*> table;
    for (size_t i = 0; i < kRows; ++i) {
      for (size_t t = 0; t < kTaps; ++t) table.push_back(input.data() + (i + t) * tap);
    }
    auto indirect = tilewright::sized<tw_indirect>();
    indirect.rows = table.data();
    indirect.row_count = table.size();
    indirect.tile = 1;
    std::vector<uint8_t> scratch(layer.plan().scratch_bytes(kRows));
    std::vector<uint8_t> lhs(kImages * layer.plan().lhs_bytes(kRows));
    const std::vector<uint8_t> rhs = layer.packed_weights(5);
    std::vector<uint8_t> dst(kImages * kRows * layer.dst_row());
    auto batch = tilewright::sized<tw_batch>();
    batch.count = kImages;
    batch.source_stride = image;
    batch.lhs_stride = lhs.empty() ? image : layer.plan().lhs_bytes(kRows);
    batch.dst_stride = kRows * layer.dst_row();
    tw_lhs_source source = layer.source();
    source.indirect = &indirect;
    source.scratch = scratch.data();
    source.scratch_bytes = scratch.size();
    tw_run_args args = layer.args();
    args.m = kRows;
    args.lhs = lhs.data();
    args.lhs_bytes = lhs.size();
    args.rhs = rhs.data();
    args.rhs_bytes = rhs.size();
    args.dst = dst.data();
    args.dst_bytes = dst.size();
    args.dst_stride = layer.dst_row();
    args.indirect = &indirect;
    args.scratch = scratch.data();
    args.scratch_bytes = scratch.size();
    for (size_t s = 0; s < 64; ++s) {
      tilewright::check(
          tw_batch_pack_lhs(layer.get(), kRows, &batch, &source, lhs.data(), lhs.size(), s));
    }
    size_t slices = 0;
    tilewright::check(tw_batch_slices(layer.get(), kRows, &batch, &slices));
    for (size_t s = 0; s < slices; ++s) {
      tilewright::check(tw_batch_run(layer.get(), &batch, &args, s));
    }
    std::vector<uint8_t> wanted(dst.size());
    for (size_t i = 0; i < kImages; ++i) {  // neighbors in memory: rows that overlap
      for (size_t row = 0; row < kRows; ++row) {
        plain.multiply(1, input.data() + i * image + row * tap, layer.lhs_row(), rhs,
                       wanted.data() + (i * kRows + row) * layer.dst_row(), layer.dst_row());
      }
    }
    if (family.weight_bits == 4) {
      EXPECT_EQ(dst, wanted);
    } else {
      for (size_t i = 0; i < dst.size(); i += 4) {
        float a = 0;
        float b = 0;
        std::memcpy(&a, dst.data() + i, 4);
        std::memcpy(&b, wanted.data() + i, 4);
        ASSERT_NEAR(a, b, 1e-3F);
      }
    }
  }
}

class BatchErrors : public testing::Test {
 protected:
  void expect_run(tw_status want, const std::string& message) {
    EXPECT_EQ(tw_batch_run(made.layer.get(), &made.batch, &args, 0), want);
    EXPECT_EQ(tw_error_message(), "tw_batch_run: " + message);
    for (size_t i = 0; i < made.dst.size(); ++i) ASSERT_EQ(made.dst.data()[i], kOld);
  }
  void expect_pack(tw_status want, const std::string& message) {
    EXPECT_EQ(tw_batch_pack_lhs(made.layer.get(), 5, &made.batch, &source, made.packed.data(),
                                packed_bytes, 0),
              want);
    EXPECT_EQ(tw_error_message(), "tw_batch_pack_lhs: " + message);
  }
  Batch made{families()[4], {3, 5, 40, 32}};
  tw_run_args args = made.args();
  tw_lhs_source source = made.source();
  size_t packed_bytes = made.packed.size();
  const std::string packed_matrix = std::to_string(made.layer.plan().lhs_bytes(5));
  const std::string weights = std::to_string(made.layer.plan().rhs_bytes());
};

TEST_F(BatchErrors, NullPointers) {
  size_t slices = 0;
  EXPECT_EQ(tw_batch_run(nullptr, &made.batch, &args, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_batch_run: plan is null");
  EXPECT_EQ(tw_batch_run(made.layer.get(), nullptr, &args, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_batch_run: batch is null");
  EXPECT_EQ(tw_batch_run(made.layer.get(), &made.batch, nullptr, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_batch_run: args is null");
  EXPECT_EQ(tw_batch_slices(made.layer.get(), 5, &made.batch, nullptr), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_batch_slices: slices is null");
  EXPECT_EQ(tw_batch_lhs_slices(made.layer.get(), 5, nullptr, &slices), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_batch_lhs_slices: batch is null");
  EXPECT_EQ(tw_batch_pack_lhs(made.layer.get(), 5, &made.batch, nullptr, nullptr, 0, 0),
            TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_batch_pack_lhs: source is null");
  args.rhs = nullptr;
  expect_run(TW_INVALID, "args.rhs is null");
  made.batch.size = 1;
  expect_run(TW_INVALID, "batch.size is 1; sizeof(tw_batch) is legal");
}

TEST_F(BatchErrors, Run) {
  const tw_batch right = made.batch;
  const tw_run_args right_args = args;
  args.lhs_bytes -= 1;
  expect_run(TW_TOO_SMALL, "args.lhs_bytes is " + std::to_string(args.lhs_bytes) +
                               "; 3 matrices of " + packed_matrix + " bytes, " + packed_matrix +
                               " apart, need " + std::to_string(right_args.lhs_bytes));
  args = right_args;
  args.rhs_bytes -= 1;
  expect_run(TW_TOO_SMALL, "args.rhs_bytes is " + std::to_string(args.rhs_bytes) +
                               "; 3 matrices of " + weights + " bytes, " + weights +
                               " apart, need " + std::to_string(right_args.rhs_bytes));
  args = right_args;
  args.dst_bytes -= 1;
  expect_run(TW_TOO_SMALL, "args.dst_bytes is 2399; 3 matrices of 800 bytes, 800 apart, need 2400");
  args = right_args;
  made.batch.dst_stride = 799;
  expect_run(TW_TOO_SMALL,
             "batch.dst_stride is 799; 3 matrices of 800 bytes overlap, with rows of 160 that are "
             "160 apart");
  made.batch.dst_stride = 0;
  expect_run(TW_TOO_SMALL,
             "batch.dst_stride is 0; 3 matrices of 800 bytes overlap, with rows of 160 that are "
             "160 apart");
  made.batch = right;
  made.batch.lhs_stride = 1;
  expect_run(TW_TOO_SMALL, "batch.lhs_stride is 1; a packed matrix has " + packed_matrix +
                               " bytes, 0 is legal for a single one");
  made.batch = right;
  made.batch.rhs_stride -= 1;
  expect_run(TW_TOO_SMALL, "batch.rhs_stride is " + std::to_string(made.batch.rhs_stride) +
                               "; a packed matrix has " + weights +
                               " bytes, 0 is legal for a single one");
  made.batch = right;
  made.batch.count = SIZE_MAX / 8;
  expect_run(TW_TOO_LARGE, "batch.count is " + std::to_string(SIZE_MAX / 8) +
                               "; so many matrices overflow the address space");
  made.batch.count = SIZE_MAX;
  size_t slices = 77;
  EXPECT_EQ(tw_batch_slices(made.layer.get(), 5, &made.batch, &slices), TW_TOO_LARGE);
  made.batch = right;
  args.clamp = 1;
  args.min = 2;
  args.max = 1;
  expect_run(TW_INVALID, "args.min is 2, args.max is 1; min must not be above max");
}

TEST_F(BatchErrors, Pack) {
  const tw_batch right = made.batch;
  const tw_lhs_source right_source = source;
  source.data_bytes -= 1;
  expect_pack(TW_TOO_SMALL,
              "source.data_bytes is 1919; 3 matrices of 640 bytes, 640 apart, need 1920");
  source = right_source;
  source.data = nullptr;
  expect_pack(TW_INVALID, "source.data is null");
  source = right_source;
  packed_bytes -= 1;
  expect_pack(TW_TOO_SMALL, "packed_bytes is " + std::to_string(packed_bytes) + "; 3 matrices of " +
                                packed_matrix + " bytes, " + packed_matrix + " apart, need " +
                                std::to_string(packed_bytes + 1));
  packed_bytes += 1;
  made.batch.lhs_stride -= 1;
  expect_pack(TW_TOO_SMALL, "batch.lhs_stride is " + std::to_string(made.batch.lhs_stride) +
                                "; a packed matrix has " + packed_matrix +
                                " bytes, 0 is legal for a single one");
  made.batch = right;
  made.batch.source_stride = SIZE_MAX / 4;
  expect_pack(TW_TOO_LARGE, "batch.count is 3; so many matrices overflow the address space");
}

}  // namespace
}  // namespace tw::test::batch_test
