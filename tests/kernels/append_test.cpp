// Weights written a part at a time, and products with some of them: the bytes of tw_pack_rhs, the
// bits of a plan for so many.
#include "tilewright/append.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <set>

#include "reference/half_reference.h"
#include "support/guarded_buffer.h"
#include "tilewright/batch.h"
#include "tilewright/tilewright.hpp"

namespace tw::test {
namespace {

/// Rows of this machine whose weights are floats.
std::vector<const tw_kernel*> float_kernels() {
  const tw_device device = tilewright::detect();
  std::vector<const tw_kernel*> kernels(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, kernels.data(), kernels.size());
  std::erase_if(kernels, [](const tw_kernel* kernel) {
    const tw_type type = kernel->rhs->type;
    return kernel->rhs->data_bits < 16 || (type != TW_F32 && type != TW_F16 && type != TW_BF16);
  });
  return kernels;
}

/// One for each of their layouts.
std::vector<const tw_kernel*> float_layouts() {
  std::set<uint64_t> seen;
  std::vector<const tw_kernel*> kernels = float_kernels();
  std::erase_if(kernels,
                [&](const tw_kernel* kernel) { return !seen.insert(kernel->rhs->id).second; });
  return kernels;
}

size_t bytes_of(tw_type type) {
  return type == TW_F32 ? 4 : 2;
}

std::vector<uint8_t> random_floats(tw_type type, size_t count, unsigned seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> value(-2, 2);
  std::vector<uint8_t> values(count * bytes_of(type));
  for (size_t i = 0; i < count; ++i) {
    const char* name = type == TW_F32 ? "f32" : type == TW_F16 ? "f16" : "bf16";
    const uint32_t bits = float_bits(name, value(random));
    std::memcpy(values.data() + i * bytes_of(type), &bits, bytes_of(type));
  }
  return values;
}

tilewright::Plan plan_of(const tw_kernel& kernel, size_t n, size_t k, size_t n_block = 33) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = kernel.family;
  matmul.kernel = kernel.name;
  matmul.dst_type = kernel.dst;
  matmul.accumulate = kernel.accumulate;
  matmul.n = n;
  matmul.k = k;
  matmul.tuning = {n_block, 5, 0, TW_ROWS_FIRST, TW_DECODE_UNSET};
  return {tilewright::detect(), matmul};
}

/// n rows of k values, the first ones of rows that may be longer.
std::vector<uint8_t> packed(const tilewright::Plan& plan, const std::vector<uint8_t>& weights,
                            size_t n, size_t k, size_t stride, const float* bias) {
  auto source = tilewright::sized<tw_rhs_source>();
  source.order = TW_NXK;
  source.data = weights.data();
  source.stride = stride;
  source.data_bytes = (n - 1) * stride + k * tw_plan_rhs_layout(plan.get())->data_bits / 8;
  source.bias = bias;
  source.bias_count = n;
  std::vector<uint8_t> made(plan.rhs_bytes());
  for (size_t s = 0; s < plan.rhs_slices(); ++s) plan.pack_rhs(source, made.data(), made.size(), s);
  return made;
}

/// Rows of `count` values out of a matrix of n x k, or k x n, behind which nothing may be read.
struct Part {
  Part(const std::vector<uint8_t>& weights, size_t k, size_t bytes, tw_rhs_order order,
       const size_t (&range)[4])
      : part(tilewright::sized<tw_rhs_part>()),
        data("part", size(bytes, order, range), Flush::end) {
    part.order = order;
    part.n_begin = range[0];
    part.n_end = range[1];
    part.k_begin = range[2];
    part.k_end = range[3];
    part.stride = stride(bytes, order, range);
    part.data = data.data();
    part.data_bytes = data.size();
    for (size_t n = range[0]; n < range[1]; ++n) {
      for (size_t i = range[2]; i < range[3]; ++i) {
        const size_t row = order == TW_NXK ? n - range[0] : i - range[2];
        const size_t at = order == TW_NXK ? i - range[2] : n - range[0];
        std::memcpy(data.data() + row * part.stride + at * bytes,
                    weights.data() + (n * k + i) * bytes, bytes);
      }
    }
  }
  static size_t values(tw_rhs_order order, const size_t (&r)[4]) {
    return order == TW_NXK ? r[3] - r[2] : r[1] - r[0];
  }
  static size_t stride(size_t bytes, tw_rhs_order order, const size_t (&r)[4]) {
    return values(order, r) * bytes + r[0] % 3 * bytes;
  }
  static size_t size(size_t bytes, tw_rhs_order order, const size_t (&r)[4]) {
    const size_t rows = order == TW_NXK ? r[1] - r[0] : r[3] - r[2];
    return rows == 0 ? 0 : (rows - 1) * stride(bytes, order, r) + values(order, r) * bytes;
  }

  tw_rhs_part part;
  GuardedBuffer data;
};

/// Random rectangles until all is covered; positions of one column or one value of k among them.
void write_parts(const tilewright::Plan& plan, const std::vector<uint8_t>& weights, size_t n,
                 size_t k, size_t bytes, const GuardedBuffer& to) {
  std::mt19937 random(static_cast<unsigned>(n * k));
  size_t n_begin = 0;
  while (n_begin < n) {
    const size_t n_end = std::min(n, n_begin + (random() % 3 == 0 ? 1 : 1 + random() % 70));
    size_t k_begin = 0;
    while (k_begin < k) {
      const size_t k_end = std::min(k, k_begin + (random() % 3 == 0 ? 1 : 1 + random() % 20));
      const tw_rhs_order order = random() % 2 == 0 ? TW_NXK : TW_KXN;
      const Part each(weights, k, bytes, order, {n_begin, n_end, k_begin, k_end});
      ASSERT_EQ(tw_append_rhs(plan.get(), &each.part, to.data(), to.size()), TW_OK)
          << tw_error_message();
      k_begin = k_end;
    }
    n_begin = n_end;
  }
}

TEST(Append, PartsMakeTheWhole) {
  for (const tw_kernel* kernel : float_layouts()) {
    for (const auto& [n, k] : {std::pair<size_t, size_t>{1, 1}, {7, 64}, {101, 37}, {130, 64}}) {
      const tilewright::Plan plan = plan_of(*kernel, n, k);
      const size_t bytes = bytes_of(kernel->rhs->type);
      const std::vector<uint8_t> weights = random_floats(kernel->rhs->type, n * k, 1);
      GuardedBuffer rhs("rhs", plan.rhs_bytes(), Flush::end);
      rhs.fill(0);
      write_parts(plan, weights, n, k, bytes, rhs);
      const std::vector<uint8_t> found(rhs.data(), rhs.data() + rhs.size());
      ASSERT_TRUE(found == packed(plan, weights, n, k, k * bytes, nullptr))
          << kernel->rhs->text << ", n " << n << ", k " << k;
    }
  }
}

/// Bytes that are not the part's stay, whatever they are.
TEST(Append, NothingElseIsWritten) {
  constexpr size_t n = 90, k = 23;
  for (const tw_kernel* kernel : float_layouts()) {
    const tilewright::Plan plan = plan_of(*kernel, n, k);
    const tw_type type = kernel->rhs->type;
    const size_t bytes = bytes_of(type);
    std::vector<uint8_t> before = random_floats(type, n * k, 1);
    const std::vector<uint8_t> after = random_floats(type, n * k, 2);
    std::vector<float> bias(n, 3);
    for (const tw_rhs_order order : {TW_NXK, TW_KXN}) {
      std::vector<uint8_t> rhs = packed(plan, before, n, k, k * bytes, bias.data());
      const size_t range[4] = {order == TW_NXK ? size_t{51} : 3, order == TW_NXK ? size_t{52} : 88,
                               order == TW_NXK ? size_t{2} : 11, order == TW_NXK ? size_t{22} : 12};
      const Part part(after, k, bytes, order, range);
      ASSERT_EQ(tw_append_rhs(plan.get(), &part.part, rhs.data(), rhs.size()), TW_OK);
      std::vector<uint8_t> mixed = before;
      for (size_t i = range[0]; i < range[1]; ++i) {
        const size_t at = (i * k + range[2]) * bytes;
        std::memcpy(mixed.data() + at, after.data() + at, (range[3] - range[2]) * bytes);
      }
      EXPECT_TRUE(rhs == packed(plan, mixed, n, k, k * bytes, bias.data())) << kernel->rhs->text;
    }
  }
}

/// m rows of some values times the first of the columns, with the bits of a plan that has no more.
struct Product {
  size_t m, n, k;
  bool bias;
};

std::vector<uint8_t> multiplied(const tilewright::Plan& plan, const tw_kernel& kernel,
                                const std::vector<uint8_t>& rhs, const Product& p,
                                const std::vector<float>& lhs) {
  const GuardedBuffer rows("lhs", lhs.size() * sizeof(float), Flush::end);
  std::memcpy(rows.data(), lhs.data(), rows.size());
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = rows.data();
  source.data_bytes = rows.size();
  source.stride = p.k * sizeof(float);
  source.k = p.k;
  std::vector<uint8_t> lhs_packed(plan.lhs_bytes(p.m), 0x7f);
  for (size_t s = plan.lhs_slices(p.m) + 1; s-- > 0;) {
    plan.pack_lhs(p.m, source, lhs_packed.data(), lhs_packed.size(), s);
  }
  std::vector<float> bias(p.n);
  for (size_t i = 0; i < p.n; ++i) bias[i] = static_cast<float>(i % 7);
  auto args = tilewright::sized<tw_run_args>();
  args.m = p.m;
  args.n = p.n;
  args.k = p.k;
  const bool unpacked = lhs_packed.empty();
  args.lhs = unpacked ? rows.data() : lhs_packed.data();
  args.lhs_bytes = unpacked ? rows.size() : lhs_packed.size();
  args.lhs_stride = unpacked ? source.stride : 0;
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  if (p.bias) args.bias = bias.data();
  args.bias_count = bias.size();
  args.dst_stride = p.n * bytes_of(kernel.dst);
  GuardedBuffer dst("dst", p.m * args.dst_stride, Flush::end);
  dst.fill(0x3c);
  args.dst = dst.data();
  args.dst_bytes = dst.size();
  for (size_t s = plan.run_slices(p.m) + 1; s-- > 0;) plan.run(args, s);
  return {dst.data(), dst.data() + dst.size()};
}

TEST(Append, ProductsUseTheFirstOnes) {
  constexpr size_t most_n = 1100, most_k = 41;
  std::vector<float> bias(most_n);
  for (size_t i = 0; i < most_n; ++i) bias[i] = static_cast<float>(i % 13) - 6;
  for (const tw_kernel* kernel : float_kernels()) {
    const tilewright::Plan plan = plan_of(*kernel, most_n, most_k);
    const tw_type type = kernel->rhs->type;
    const size_t stride = most_k * bytes_of(type);
    const std::vector<uint8_t> weights = random_floats(type, most_n * most_k, 3);
    const std::vector<uint8_t> rhs = packed(plan, weights, most_n, most_k, stride, bias.data());
    for (const Product& p : {Product{1, most_n, 3, false},
                             {1, 101, most_k, false},
                             {5, 63, 40, false},
                             {1, 1, 1, false},
                             {21, 70, 33, true},
                             {9, 33, 17, false}}) {
      std::vector<float> lhs(p.m * p.k);
      for (size_t i = 0; i < lhs.size(); ++i) lhs[i] = static_cast<float>(i % 37) / 16 - 1;
      const tilewright::Plan exact = plan_of(*kernel, p.n, p.k);
      const std::vector<uint8_t> own = packed(exact, weights, p.n, p.k, stride, bias.data());
      ASSERT_TRUE(multiplied(plan, *kernel, rhs, p, lhs) == multiplied(exact, *kernel, own, p, lhs))
          << kernel->name << ", m " << p.m << ", n " << p.n << ", k " << p.k;
    }
    const Product all{1, most_n, 3, false};  // at once: more columns than biases are copied
    const std::vector<float> lhs = {1, -0.5F, 0.25F};
    ASSERT_TRUE(multiplied(plan_of(*kernel, most_n, most_k, SIZE_MAX), *kernel, rhs, all, lhs) ==
                multiplied(plan, *kernel, rhs, all, lhs))
        << kernel->name;
  }
}

/// Heads that share a plan for the most positions.
TEST(Append, BatchesUseTheFirstOnes) {
  constexpr size_t heads = 3, m = 2, n = 19, k = 21, most_n = 48, most_k = 64;
  for (const char* family : {"matmul_clamp_f32_f32_f32p", "matmul_clamp_f32_bf16p_bf16p"}) {
    const std::vector<const tw_kernel*> kernels = float_kernels();
    const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const tw_kernel* kernel) {
      return std::string(kernel->family) == family;
    });
    if (found == kernels.end()) continue;
    const tilewright::Plan plan = plan_of(**found, most_n, most_k);
    const tw_type type = (*found)->rhs->type;
    std::vector<uint8_t> rhs;
    std::vector<std::vector<uint8_t>> each;
    for (unsigned head = 0; head < heads; ++head) {
      each.push_back(packed(plan, random_floats(type, most_n * most_k, head), most_n, most_k,
                            most_k * bytes_of(type), nullptr));
      rhs.insert(rhs.end(), each.back().begin(), each.back().end());
    }
    std::vector<float> lhs(heads * m * k);
    for (size_t i = 0; i < lhs.size(); ++i) lhs[i] = static_cast<float>(i % 29) / 8 - 1;
    auto source = tilewright::sized<tw_lhs_source>();
    source.data = lhs.data();
    source.data_bytes = lhs.size() * sizeof(float);
    source.stride = k * sizeof(float);
    source.k = k;
    auto batch = tilewright::sized<tw_batch>();
    batch.count = heads;
    const size_t lhs_bytes = plan.lhs_bytes(m);
    batch.source_stride = m * k * sizeof(float);
    batch.lhs_stride = lhs_bytes == 0 ? batch.source_stride : lhs_bytes;
    batch.rhs_stride = plan.rhs_bytes();
    batch.dst_stride = m * n * sizeof(float);
    std::vector<uint8_t> lhs_packed(heads * lhs_bytes);
    std::vector<float> dst(heads * m * n);
    auto args = tilewright::sized<tw_run_args>();
    args.m = m;
    args.n = n;
    args.k = k;
    args.lhs = lhs_bytes == 0 ? static_cast<const void*>(lhs.data()) : lhs_packed.data();
    args.lhs_bytes = lhs_bytes == 0 ? source.data_bytes : lhs_packed.size();
    args.lhs_stride = lhs_bytes == 0 ? source.stride : 0;
    args.rhs = rhs.data();
    args.rhs_bytes = rhs.size();
    args.dst = dst.data();
    args.dst_bytes = dst.size() * sizeof(float);
    args.dst_stride = n * sizeof(float);
    for (size_t s = 0; s < 100; ++s) {
      tilewright::check(tw_batch_pack_lhs(plan.get(), m, &batch, &source, lhs_packed.data(),
                                          lhs_packed.size(), s));
    }
    for (size_t s = 0; s < 100; ++s) {
      tilewright::check(tw_batch_run(plan.get(), &batch, &args, s));
    }
    for (size_t head = 0; head < heads; ++head) {
      const auto* rows = lhs.data() + head * m * k;
      const std::vector<uint8_t> want =
          multiplied(plan, **found, each[head], {m, n, k, false}, {rows, rows + m * k});
      EXPECT_EQ(std::memcmp(dst.data() + head * m * n, want.data(), want.size()), 0) << family;
    }
  }
}

class AppendErrors : public testing::Test {
 protected:
  AppendErrors() : values(12), part(tilewright::sized<tw_rhs_part>()), rhs(plan.rhs_bytes(), 5) {
    part.data = values.data();
    part.data_bytes = values.size() * sizeof(float);
    part.stride = 4 * sizeof(float);
    part.n_begin = 6;
    part.n_end = 9;
    part.k_begin = 1;
    part.k_end = 5;
  }
  void expect(tw_status want, const std::string& message) {
    EXPECT_EQ(tw_append_rhs(plan.get(), &part, rhs.data(), bytes), want);
    EXPECT_EQ(tw_error_message(), "tw_append_rhs: " + message);
    EXPECT_EQ(std::count(rhs.begin(), rhs.end(), 5), static_cast<int64_t>(rhs.size()));
  }
  tilewright::Plan plan = plan_of(*float_layouts().front(), 9, 5);
  std::vector<float> values;
  tw_rhs_part part;
  std::vector<uint8_t> rhs;
  size_t bytes = rhs.size();
};

TEST_F(AppendErrors, Part) {
  const tw_rhs_part right = part;
  part.n_end = 10;
  expect(TW_INVALID,
         "part.n_begin is 6 and part.n_end 10; ascending ones up to 9, this plan's n, are legal");
  part = right;
  part.k_begin = 6;
  part.k_end = 5;
  expect(TW_INVALID,
         "part.k_begin is 6 and part.k_end 5; ascending ones up to 5, this plan's k, are legal");
  part = right;
  part.order = TW_Q8_0;
  expect(TW_INVALID, "part.order is 3; TW_NXK, 0, and TW_KXN, 1, are legal");
  part = right;
  part.data = nullptr;
  expect(TW_INVALID, "part.data is null");
  part = right;
  const size_t value = tw_plan_rhs_layout(plan.get())->data_bits / 8;
  part.stride = 4 * value - 1;
  expect(TW_TOO_SMALL, "part.stride is " + std::to_string(part.stride) + "; a row has " +
                           std::to_string(4 * value) + " bytes");
  part = right;
  part.data_bytes = 32 + 4 * value - 1;
  expect(TW_TOO_SMALL, "part.data_bytes is " + std::to_string(part.data_bytes) +
                           "; 3 rows with stride 16 need " + std::to_string(part.data_bytes + 1));
  part = right;
  bytes -= 1;
  expect(TW_TOO_SMALL, "packed_bytes is " + std::to_string(bytes) + "; this plan needs " +
                           std::to_string(bytes + 1));
  EXPECT_EQ(tw_append_rhs(plan.get(), nullptr, rhs.data(), rhs.size()), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_append_rhs: part is null");
  EXPECT_EQ(tw_append_rhs(nullptr, &part, rhs.data(), rhs.size()), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_append_rhs: plan is null");
  part.n_end = part.n_begin;
  part.data = nullptr;
  EXPECT_EQ(tw_append_rhs(plan.get(), &part, rhs.data(), rhs.size()), TW_OK);
}

tilewright::Plan codes(size_t n, size_t k, const char* family = "matmul_clamp_f32_qai8dxp_qsi8cxp",
                       size_t taps = 0) {
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family;
  matmul.n = n;
  matmul.k = k;
  matmul.taps = taps;
  return {tilewright::detect(), matmul};
}

TEST_F(AppendErrors, WeightsWithScales) {
  const tilewright::Plan scaled = codes(9, 8);
  std::vector<uint8_t> memory(scaled.rhs_bytes());
  const std::string layout = tw_plan_rhs_layout(scaled.get())->text;
  EXPECT_EQ(tw_append_rhs(scaled.get(), &part, memory.data(), memory.size()), TW_UNSUPPORTED);
  EXPECT_EQ(tw_error_message(),
            "tw_append_rhs: layout " + layout + " is not of floats; those are legal");
  auto source = tilewright::sized<tw_lhs_source>();
  source.k = 7;
  EXPECT_EQ(tw_pack_lhs(scaled.get(), 1, &source, memory.data(), memory.size(), 0), TW_UNSUPPORTED);
  EXPECT_EQ(tw_error_message(),
            "tw_pack_lhs: source.k is 7; of layout " + layout + " all k are used, 8");
}

TEST_F(AppendErrors, MoreThanThereIs) {
  auto args = tilewright::sized<tw_run_args>();
  args.m = 1;
  args.k = 6;
  EXPECT_EQ(tw_run(plan.get(), &args, 0), TW_TOO_LARGE);
  EXPECT_STREQ(tw_error_message(), "tw_run: args.k is 6; this plan's k, 5, is the most");
  args.k = 5;
  args.n = 10;
  EXPECT_EQ(tw_run(plan.get(), &args, 0), TW_TOO_LARGE);
  EXPECT_STREQ(tw_error_message(), "tw_run: args.n is 10; this plan's n, 9, is the most");
  args.n = 9;
  args.k = 2;
  EXPECT_EQ(tw_run(codes(9, 6, "matmul_clamp_f32_f32_f32p", 2).get(), &args, 0), TW_INVALID);
  EXPECT_STREQ(tw_error_message(), "tw_run: args.k is 2; rows with taps have this plan's k, 6");
}

}  // namespace
}  // namespace tw::test
