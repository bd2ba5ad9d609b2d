// Deep products of codes that go through k in parts: fake kernels of a made-up layout, on a device
// with a small cache.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "runtime/devices.h"
#include "runtime/fake_rows.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::parts_test {
namespace {

/// Panels of 2 rows and of 4 columns: [k][row or column] codes, k padded to 32, and then a field.
constexpr size_t kRows = 2, kColumns = 4, kMultiple = 32;

size_t padded(size_t k) {
  return (k + kMultiple - 1) / kMultiple * kMultiple;
}

struct Seen {
  const char* what;
  size_t m, n, k;
};
std::vector<Seen>& seen() {
  static std::vector<Seen> all;
  return all;
}

int32_t read32(const void* base, size_t bytes) {
  int32_t value = 0;
  std::memcpy(&value, static_cast<const char*>(base) + bytes, sizeof value);
  return value;
}

/// f(output, sum of products, field of the row + field of the column)
template <typename F>
void each_output(const char* what, const tw_args* a, const F& f) {
  seen().push_back({what, a->m, a->n, a->k});
  for (size_t row = 0; row < a->m; ++row) {
    const auto* lhs = static_cast<const int8_t*>(a->lhs) + row / kRows * a->lhs_stride;
    for (size_t n = 0; n < a->n; ++n) {
      const auto* rhs = static_cast<const int8_t*>(a->rhs) + n / kColumns * a->rhs_stride;
      int32_t sum = 0;
      for (size_t k = 0; k < a->k; ++k) {
        sum += lhs[k * kRows + row % kRows] * rhs[k * kColumns + n % kColumns];
      }
      const auto fields = [&] {
        return read32(lhs, padded(a->k) * kRows + row % kRows * 4) +
               read32(rhs, padded(a->k) * kColumns + n % kColumns * 4);
      };
      f(static_cast<char*>(a->dst) + row * a->dst_stride + n * 4, sum, fields);
    }
  }
}

void put(char* output, int32_t sum, int32_t fields) {
  const auto value = static_cast<float>(sum) + static_cast<float>(fields) / 4;
  std::memcpy(output, &value, sizeof value);
}
void whole(const tw_args* args) {
  each_output("whole", args,
              [](char* to, int32_t sum, const auto& fields) { put(to, sum, fields()); });
}
void add_sums(const tw_args* args) {
  each_output("sums", args, [](char* to, int32_t sum, const auto& /*fields*/) {
    sum += read32(to, 0);
    std::memcpy(to, &sum, sizeof sum);
  });
}
void last(const tw_args* args) {
  each_output("last", args, [](char* to, int32_t sum, const auto& fields) {
    put(to, sum + read32(to, 0), fields());
  });
}
void never_pack(const tw_pack_args* /*args*/) {
  ADD_FAILURE() << "rows were packed";
}

tw_layout layout_of(uint64_t id, size_t panel, const char* text) {
  tw_layout layout{};
  layout.id = id;
  layout.text = text;
  layout.panel = panel;
  layout.k_multiple = kMultiple;
  layout.data_bits = 8;
  layout.per_row_bytes = 4;
  layout.scales = 1;
  layout.type = TW_S8;
  return layout;
}
const tw_layout kLhs = layout_of(0x701, kRows, "lhs of parts");
const tw_layout kRhs = layout_of(0x702, kColumns, "rhs of parts");

tw_kernel row(const char* name, tw_kernel_fn run, tw_type dst) {
  tw_kernel kernel{};
  kernel.name = kernel.symbol = name;
  kernel.family = "of_parts";
  kernel.isa = "scalar";
  kernel.printer = "intrinsics";
  kernel.technique = "tile";
  kernel.spec = "specs/fake.yaml:1:1";
  kernel.run = run;
  kernel.lhs = &kLhs;
  kernel.rhs = &kRhs;
  kernel.tile_m = kRows;
  kernel.tile_n = kColumns;
  kernel.unroll_k = 32;
  kernel.accumulators = 1;
  kernel.macs_per_cycle = 1000;
  kernel.spills = "unknown";
  kernel.core = "";
  kernel.dst = dst;
  return kernel;
}
const tw_kernel kWhole[] = {row("whole", whole, TW_F32)};
const tw_kernel kParts[] = {row("sums", add_sums, TW_S32), row("last", last, TW_F32)};
const tw_packer kPackers[] = {{"rhs", "rhs", "nxk", "scalar", never_pack, 0, &kRhs, 0, 0},
                              {"lhs", "lhs", "f32", "scalar", never_pack, 0, &kLhs, 0, 0}};

tw_registry registry_of(size_t parts) {
  return {kWhole, 1, kPackers, 2, nullptr, 0, nullptr, 0, kParts, parts};
}

tw_device device_of(size_t l2) {
  tw_device device = plain();
  device.l2_bytes = l2;
  return device;
}

/// Operands of codes as panels, and outputs of a run.
struct Product {
  Product(size_t m, size_t n, size_t k) : m(m), n(n), k(k) {
    lhs = packed(m, kRows, 7);
    lhs.resize(lhs.size() + 64);  // to where a segment may end
    rhs = packed(n, kColumns, 5);
  }

  [[nodiscard]] std::vector<uint8_t> packed(size_t rows, size_t panel, unsigned factor) const {
    const size_t stride = panel * (padded(k) + 4);
    std::vector<uint8_t> all((rows + panel - 1) / panel * stride);
    for (size_t i = 0; i < rows; ++i) {
      uint8_t* to = all.data() + i / panel * stride;
      for (size_t j = 0; j < k; ++j) {
        to[j * panel + i % panel] = static_cast<uint8_t>((i * factor + j * 3 + j / 100) % 23 - 11);
      }
      const auto field = static_cast<int32_t>(i * factor + 1);
      std::memcpy(to + padded(k) * panel + i % panel * 4, &field, 4);
    }
    return all;
  }

  std::vector<float> run(const tw_registry& registry, size_t l2, size_t threads = 1,
                         const tw_tuning& tuning = {}) const {
    const tw_device device = device_of(l2);
    auto matmul = tilewright::sized<tw_matmul>();
    matmul.family = "of_parts";
    matmul.n = n;
    matmul.k = k;
    matmul.threads = threads;
    matmul.tuning = tuning;
    tw_plan* plan = nullptr;
    tilewright::check(tw_plan_create_from(&registry, &device, &matmul, &plan));
    std::vector<float> dst(m * (n + 1), -1);
    auto args = tilewright::sized<tw_run_args>();
    args.m = m;
    args.lhs = lhs.data();
    args.lhs_bytes = lhs.size();
    args.rhs = rhs.data();
    args.rhs_bytes = rhs.size();
    args.dst = dst.data();
    args.dst_stride = (n + 1) * 4;
    args.dst_bytes = dst.size() * 4;
    seen().clear();
    size_t slices = 0;
    EXPECT_EQ(tw_run_slices(plan, m, &slices), TW_OK);
    while (slices-- > 0) EXPECT_EQ(tw_run(plan, &args, slices), TW_OK) << tw_error_message();
    tw_plan_destroy(plan);
    return dst;
  }

  size_t m, n, k;
  std::vector<uint8_t> lhs, rhs;
};

size_t calls_of(const char* what) {
  return static_cast<size_t>(std::count_if(seen().begin(), seen().end(), [&](const Seen& call) {
    return std::strcmp(call.what, what) == 0;
  }));
}

constexpr size_t kSmall = size_t{256} << 10, kLarge = size_t{64} << 20;

/// Rows that stay in a large cache go through all of k at once, those that leave a small one in
/// parts; k ends anywhere.
TEST(PartsOfK, HaveTheBitsOfTheWhole) {
  const tw_tuning tunings[] = {{}, {8, 6, 0, TW_ROWS_FIRST, TW_DECODE_UNSET}};
  for (const size_t k : {size_t{8192}, size_t{8192 + 37}}) {
    const Product product(33, 19, k);
    const std::vector<float> right = product.run(registry_of(2), kLarge);
    EXPECT_EQ(calls_of("sums") + calls_of("last"), 0U);
    for (const tw_tuning& tuning : tunings) {
      EXPECT_EQ(product.run(registry_of(2), kSmall, 1, tuning), right);
      EXPECT_GT(calls_of("sums"), calls_of("last"));
      EXPECT_GT(calls_of("last"), 0U);
      EXPECT_EQ(calls_of("whole"), 0U);
    }
    EXPECT_EQ(product.run(registry_of(2), kSmall, 3), right);
  }
}

/// Parts of so many values of k that sums are not loaded and stored all the time; more rows go by
/// in blocks.
TEST(PartsOfK, AreLong) {
  const Product product(101, 8, 8192);
  product.run(registry_of(2), kSmall);
  EXPECT_GT(calls_of("sums"), 0U);
  for (const Seen& call : seen()) {
    EXPECT_LE(call.m, (kSmall / 2) / 2048);
    if (std::strcmp(call.what, "sums") == 0) {
      EXPECT_GE(call.k, 2048U);
    }
  }
}

/// One tile of rows, few values of k, or a registry without one of the two.
TEST(PartsOfK, AreNotTakenWhereTheyDoNotPay) {
  const auto whole_only = [](const Product& product, size_t parts) {
    product.run(registry_of(parts), kSmall);
    return calls_of("sums") + calls_of("last") == 0;
  };
  EXPECT_TRUE(whole_only(Product(2, 8, 60000), 2));
  EXPECT_TRUE(whole_only(Product(300, 8, 2048), 2));
  EXPECT_TRUE(whole_only(Product(33, 8, 8192), 1));
  EXPECT_FALSE(whole_only(Product(33, 8, 8192), 2));
}

}  // namespace
}  // namespace tw::test::parts_test
