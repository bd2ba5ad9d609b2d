// Plans whose kernels read the caller's own rows of floats: nothing is packed on the left.
#include <gtest/gtest.h>

#include <cstring>
#include <vector>

#include "runtime/devices.h"
#include "runtime/fake_rows.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

constexpr size_t panel = 8;

float get(const void* base, size_t bytes) {
  float value = 0;
  std::memcpy(&value, static_cast<const char*>(base) + bytes, sizeof value);
  return value;
}

/// Panels of 8 columns: [k][8] values, then 8 biases.
void multiply(const tw_args* a) {
  for (size_t row = 0; row < a->m; ++row) {
    for (size_t n = 0; n < a->n; ++n) {
      const size_t at = n / panel * a->rhs_stride + n % panel * 4;
      float sum = get(a->rhs, at + a->k * panel * 4);
      for (size_t k = 0; k < a->k; ++k) {
        sum += get(a->lhs, row * a->lhs_stride + k * 4) * get(a->rhs, at + k * panel * 4);
      }
      std::memcpy(static_cast<char*>(a->dst) + row * a->dst_stride + n * 4, &sum, 4);
    }
  }
}

void never(const tw_args* /*args*/) {
  ADD_FAILURE() << "a kernel of packed rows was called";
}
void never_pack(const tw_pack_args* /*args*/) {
  ADD_FAILURE() << "rows were packed";
}

void pack(const tw_pack_args* a) {
  for (size_t n = a->row_begin; n < a->row_end; ++n) {
    char* to = static_cast<char*>(a->packed) + n / panel * a->packed_stride + n % panel * 4;
    for (size_t k = 0; k < a->k; ++k) {
      const float value = get(a->source, n * a->source_stride + k * 4);
      std::memcpy(to + k * panel * 4, &value, 4);
    }
    std::memcpy(to + a->k * panel * 4, static_cast<const float*>(a->bias) + n, 4);
  }
}

const tw_layout rows_layout{0x501, "lhs rows",      1, 0, 1, 0, 32, 0,       0,      0,
                            0,     TW_SCALES_UNSET, 0, 0, 0, 0, 0,  nullptr, TW_F32, 0};
const tw_layout packed_layout{0x502, "lhs packed",    2, 0, 1, 0, 32, 0,       0,      0,
                              0,     TW_SCALES_UNSET, 0, 0, 0, 0, 0,  nullptr, TW_F32, 0};
const tw_layout rhs_layout{
    0x508, "rhs floats", panel,        0, 1, 0, 32, 4, 0, 0, 0, TW_SCALES_UNSET, 0, 0, 0, 0,
    0,     nullptr,      TW_TYPE_NONE, 0};

tw_kernel kernel(const char* name, tw_kernel_fn run, const tw_layout& lhs, size_t tile_m,
                 double rate) {
  return {name,      "f",
          "scalar",  "intrinsics",
          "fma",     "specs/fake.yaml:1:1",
          run,       0,
          &lhs,      &rhs_layout,
          tile_m,    panel,
          0,         4,
          1,         16,
          rate,      0,
          "unknown", "generic",
          0,         0,
          0,         TW_F32,
          0,         nullptr,
          0,         nullptr};
}

const tw_kernel kernels[] = {kernel("rows_1x8", multiply, rows_layout, 1, 1),
                             kernel("rows_4x8", multiply, rows_layout, 4, 2),
                             kernel("packed_2x8", never, packed_layout, 2, 100)};
const tw_packer packers[] = {{"rhs", "rhs", "nxk", "scalar", pack, 0, &rhs_layout, 0, 0},
                             {"lhs", "lhs", "f32", "scalar", never_pack, 0, &packed_layout, 0, 0}};
const tw_registry registry{kernels, 3, packers, 2, nullptr, 0, nullptr, 0, nullptr, 0};

class Unpacked : public testing::Test {
 protected:
  static constexpr size_t n = 21, k = 19, m = 9, stride = k * 4 + 12;

  Unpacked() {
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = "f";
    matmul.n = n;
    matmul.k = k;
    matmul.tuning = {8, 4, 0, TW_ROWS_FIRST, TW_DECODE_UNSET};  // several slices in both directions
    const tw_device device = plain();
    EXPECT_EQ(tw_plan_create_from(&registry, &device, &matmul, &plan), TW_OK);
    for (size_t i = 0; i < n * k; ++i) weights.push_back(static_cast<float>(i % 7) - 3);
    for (size_t i = 0; i < n; ++i) bias.push_back(static_cast<float>(i));
    lhs.resize((m - 1) * stride + k * 4);
    for (size_t row = 0; row < m; ++row) {
      for (size_t i = 0; i < k; ++i) {
        const float value = activation(row, i);
        std::memcpy(lhs.data() + row * stride + i * 4, &value, 4);
      }
    }
    packed.resize(tw_rhs_bytes(plan));
  }
  ~Unpacked() override { tw_plan_destroy(plan); }

  static float activation(size_t row, size_t i) { return static_cast<float>((row * 5 + i) % 11); }

  [[nodiscard]] tw_rhs_source source() const {
    auto from = tilewright::sized<tw_rhs_source>();
    from.order = TW_NXK;
    from.data = weights.data();
    from.data_bytes = weights.size() * 4;
    from.stride = k * 4;
    from.bias = bias.data();
    from.bias_count = n;
    return from;
  }
  tw_run_args args(std::vector<float>& dst) {
    auto run = tilewright::sized<tw_run_args>();
    run.m = m;
    run.lhs = lhs.data();
    run.lhs_bytes = lhs.size();
    run.lhs_stride = stride;
    run.rhs = packed.data();
    run.rhs_bytes = packed.size();
    run.dst = dst.data();
    run.dst_bytes = dst.size() * 4;
    run.dst_stride = n * 4;
    return run;
  }
  void fails(const tw_run_args& bad, tw_status want, const std::string& message) {
    EXPECT_EQ(tw_run(plan, &bad, 0), want);
    EXPECT_EQ(tw_error_message(), message);
  }

  tw_plan* plan = nullptr;
  std::vector<float> weights, bias;
  std::vector<char> lhs, packed;
};

TEST_F(Unpacked, RowsAreReadWhereTheyAre) {
  size_t bytes = 1;
  EXPECT_EQ(tw_lhs_bytes(plan, m, &bytes), TW_OK);
  EXPECT_EQ(bytes, 0U);
  EXPECT_EQ(tilewright::lhs_slices(plan, m), 0U);
  EXPECT_EQ(tw_pack_lhs(plan, m, nullptr, nullptr, 0, 0), TW_OK);
  const tw_rhs_source from = source();
  for (size_t s = 0; s < tilewright::rhs_slices(plan); ++s) {
    ASSERT_EQ(tw_pack_rhs(plan, &from, packed.data(), packed.size(), s), TW_OK);
  }
  std::vector<float> dst(m * n, -1);
  const tw_run_args run = args(dst);
  EXPECT_GT(tilewright::run_slices(plan, m), 4U);
  for (size_t s = tilewright::run_slices(plan, m); s-- > 0;)
    ASSERT_EQ(tw_run(plan, &run, s), TW_OK);
  for (size_t row = 0; row < m; ++row) {
    for (size_t column = 0; column < n; ++column) {
      float sum = bias[column];
      for (size_t i = 0; i < k; ++i) sum += activation(row, i) * weights[column * k + i];
      ASSERT_EQ(dst[row * n + column], sum) << row << " " << column;
    }
  }
}

TEST_F(Unpacked, KernelsOfPackedRowsStayOut) {
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  ASSERT_EQ(tw_plan_segments(plan, 6, segments, &count), TW_OK);
  for (size_t i = 0; i < count; ++i) {
    EXPECT_EQ(segments[i].kernel->lhs, &rows_layout);
    EXPECT_EQ(segments[i].lhs_packer, nullptr);
  }
}

TEST_F(Unpacked, ErrorsSayWhatRowsNeed) {
  std::vector<float> dst(m * n);
  tw_run_args bad = args(dst);
  bad.lhs_stride = 0;
  fails(bad, TW_TOO_SMALL,
        "tw_run: args.lhs_stride is 0; this plan reads unpacked rows, and one of k = 19 values "
        "has 76 bytes");
  bad.lhs_stride = 75;
  fails(bad, TW_TOO_SMALL,
        "tw_run: args.lhs_stride is 75; this plan reads unpacked rows, and one of k = 19 values "
        "has 76 bytes");
  bad = args(dst);
  bad.lhs_stride = SIZE_MAX / 2;
  fails(bad, TW_TOO_LARGE,
        "tw_run: args.lhs_stride is " + std::to_string(SIZE_MAX / 2) +
            "; m = 9 rows overflow the address space");
  bad = args(dst);
  bad.lhs_bytes -= 1;
  fails(bad, TW_TOO_SMALL,
        "tw_run: args.lhs_bytes is " + std::to_string(lhs.size() - 1) +
            "; m = 9 unpacked rows need " + std::to_string(lhs.size()));
}

TEST_F(Unpacked, FloatsHaveNeitherScalesNorNibbles) {
  tw_rhs_source bad = source();
  bad.scales = bias.data();
  bad.scale_count = n;
  EXPECT_EQ(tw_pack_rhs(plan, &bad, packed.data(), packed.size(), 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(),
               "tw_pack_rhs: source.scales is set; layout rhs floats has none, null is legal");
  bad = source();
  bad.unsigned_nibbles = 1;
  EXPECT_EQ(tw_pack_rhs(plan, &bad, packed.data(), packed.size(), 0), TW_INVALID);
  EXPECT_STREQ(
      tw_error_message(),
      "tw_pack_rhs: source.unsigned_nibbles is 1; the weights of this plan have 32 bits, so that "
      "0 is legal");
}

// Codes that rows of floats are multiplied by add up to floats, which no depth is too much for.
TEST_F(Unpacked, SumsAreFloats) {
  tw_layout codes = rhs_layout;
  codes.exact_k = k - 1;
  tw_kernel row = kernels[0];
  row.rhs = &codes;
  const tw_registry deep{&row, 1, nullptr, 0, nullptr, 0, nullptr, 0, nullptr, 0};
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "f";
  matmul.n = n;
  matmul.k = k;
  const tw_device device = plain();
  tw_plan* made = nullptr;
  EXPECT_EQ(tw_plan_create_from(&deep, &device, &matmul, &made), TW_OK) << tw_error_message();
  tw_plan_destroy(made);
}

// Rows of the kernels' type are read where they are, others by a packer that converts them.
TEST_F(Unpacked, OtherTypesAreConverted) {
  tw_packer packer = packers[1];
  packer.source = "f16";
  packer.layout = &rows_layout;
  const tw_registry types{kernels, 2, &packer, 1, nullptr, 0, nullptr, 0, nullptr, 0};
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "f";
  matmul.n = n;
  matmul.k = k;
  const tw_device device = plain();
  for (const auto& [type, bytes] : {std::pair{TW_F32, size_t{0}}, {TW_F16, m * k * 4}}) {
    matmul.lhs_type = type;
    tw_plan* made = nullptr;
    ASSERT_EQ(tw_plan_create_from(&types, &device, &matmul, &made), TW_OK) << tw_error_message();
    size_t found = 0;
    EXPECT_EQ(tw_lhs_bytes(made, m, &found), TW_OK);
    EXPECT_GE(found, bytes);
    EXPECT_LE(found, bytes + 2 * 64) << "segments begin at whole lines";
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    ASSERT_EQ(tw_plan_segments(made, m, segments, &count), TW_OK);
    EXPECT_EQ(segments[0].lhs_packer, type == TW_F32 ? nullptr : &packer);
    tw_plan_destroy(made);
  }
  matmul.lhs_type = TW_BF16;
  tw_plan* none = nullptr;
  EXPECT_EQ(tw_plan_create_from(&types, &device, &matmul, &none), TW_UNSUPPORTED);
  EXPECT_STREQ(tw_error_message(),
               "tw_plan_create: matmul.lhs_type is bf16; f reads rows of: f32, f16");
}

// Only what is packed may have been of another type, where the device runs what reads that.
TEST_F(Unpacked, OtherTypesHaveToBePacked) {
  tw_kernel rows[] = {kernels[0], kernels[2]};
  rows[1].features = TW_FEATURE_I8MM;
  tw_packer packer = packers[1];
  packer.source = "f16";
  const tw_registry types{rows, 2, &packer, 1, nullptr, 0, nullptr, 0, nullptr, 0};
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = "f";
  matmul.n = n;
  matmul.k = k;
  matmul.lhs_type = TW_F16;
  tw_device device = plain();
  tw_plan* none = nullptr;
  EXPECT_EQ(tw_plan_create_from(&types, &device, &matmul, &none), TW_UNSUPPORTED);
  EXPECT_STREQ(tw_error_message(),
               "tw_plan_create: matmul.lhs_type is f16; f reads rows of: f32, on this device");
  matmul.lhs_type = TW_BF16;
  EXPECT_EQ(tw_plan_create_from(&types, &device, &matmul, &none), TW_UNSUPPORTED);
  EXPECT_STREQ(tw_error_message(), "tw_plan_create: matmul.lhs_type is bf16; f reads rows of: f32");
  matmul.lhs_type = TW_F16;
  device.features |= TW_FEATURE_I8MM;
  tw_plan* packs = nullptr;
  ASSERT_EQ(tw_plan_create_from(&types, &device, &matmul, &packs), TW_OK) << tw_error_message();
  size_t bytes = 0;
  EXPECT_EQ(tw_lhs_bytes(packs, m, &bytes), TW_OK);
  EXPECT_GT(bytes, 0U);
  tw_plan_destroy(packs);
}

}  // namespace
}  // namespace tw::test
