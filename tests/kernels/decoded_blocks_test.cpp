// Panels of codes in blocks that become panels of bytes, and kernels that multiply by those: each
// pair as one kernel of the packed weights, right to the bit in that one's cases; decoders by
// themselves; and products of many rows through the run-time API, beside those without scratch.
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "internal.h"
#include "kernels/harness.h"
#include "kernels/rows.h"
#include "support/call_checked.h"
#include "support/guarded_buffer.h"
#include "tilewright/gated.h"
#include "tilewright/groups.h"
#include "tilewright/tilewright.hpp"

namespace tw::test::decoded_blocks_test {
namespace {

struct Pair {
  const tw_kernel *decoder, *kernel;
};

template <typename F>
void each_running(const tw_kernel* rows, size_t count, const F& f) {
  const tw_device here = tilewright::detect();
  for (size_t i = 0; i < count; ++i) {
    if (rows[i].run != nullptr && tw_kernel_supported(&rows[i], &here) != 0) f(rows[i]);
  }
}

std::vector<Pair> running_pairs() {
  std::vector<Pair> pairs;
  each_running(tw_generated_decoders, tw_generated_decoder_count, [&](const tw_kernel& decoder) {
    if (decoder.dst != TW_S8 || decoder.rhs->block == 0) return;
    each_running(tw_generated_parts, tw_generated_part_count, [&](const tw_kernel& kernel) {
      const bool its = std::strcmp(kernel.isa, decoder.isa) == 0;
      if (its && kernel.rhs == decoder.decoded) pairs.push_back({&decoder, &kernel});
    });
  });
  return pairs;
}

Pair current;

/// What a plan does with a panel, for all of them. The panels of bytes end at an inaccessible page.
void decode_and_multiply(const tw_args* args) {
  const size_t panel = panel_rows(*current.decoder->rhs);
  const size_t stride = panel_bytes(*current.decoder->decoded, args->k);
  GuardedBuffer bytes("bytes", (args->n + panel - 1) / panel * stride, Flush::end);
  tw_args decoded = *args;
  decoded.dst = bytes.data();
  decoded.dst_stride = stride;
  current.decoder->run(&decoded);
  tw_args product = *args;
  product.rhs = bytes.data();
  product.rhs_stride = stride;
  current.kernel->run(&product);
}

class DecodedBlocks : public testing::TestWithParam<Pair> {
 protected:
  void SetUp() override { current = GetParam(); }

  static void run_all(const std::vector<Case>& cases) {
    tw_kernel both = *current.kernel;
    both.rhs = current.decoder->rhs;
    both.run = decode_and_multiply;
    const Packers packers = find_packers(both);
    for (const Case& test : cases) {
      ASSERT_EQ(run_case(both, packers, test), "") << both.name << ": " << to_string(test);
    }
  }
};

TEST_P(DecodedBlocks, ShapesAndTails) {
  run_all(shape_cases(*GetParam().kernel));
  run_all(tail_cases(*GetParam().kernel));
}

TEST_P(DecodedBlocks, Options) {
  run_all(option_cases(*GetParam().kernel));
}

/// Whatever the bytes are: packed weights end at an inaccessible page, and so do panels of bytes.
TEST_P(DecodedBlocks, AreMadeOfWhatIsThere) {
  const tw_kernel& decoder = *GetParam().decoder;
  const size_t k = 3 * decoder.rhs->block, panel = panel_rows(*decoder.rhs);
  for (const size_t n : {size_t{1}, panel, 2 * panel + 1}) {
    const size_t panels = (n + panel - 1) / panel;
    GuardedBuffer rhs("rhs", panels * panel_bytes(*decoder.rhs, k), Flush::end);
    GuardedBuffer bytes("bytes", panels * panel_bytes(*decoder.decoded, k), Flush::end);
    rhs.fill(0x5a);
    tw_args args = {};
    args.size = sizeof args;
    args.n = n;
    args.k = k;
    args.block = decoder.rhs->block;
    args.rhs = rhs.data();
    args.rhs_stride = rhs.size() / panels;
    args.dst = bytes.data();
    args.dst_stride = bytes.size() / panels;
    const CallReport report = call_checked(reinterpret_cast<Function>(decoder.run), &args);
    ASSERT_EQ(report.signal, 0) << rhs.describe(report.address) << bytes.describe(report.address);
    ASSERT_EQ(register_names(report.clobbered), "");
    ASSERT_EQ(bytes.slack_damage(), "");
  }
}

constexpr size_t kManyRows = 259;

/// Weights of any codes whose floats are finite.
std::vector<uint8_t> random_bytes(size_t count) {
  std::mt19937 random(7);
  std::vector<uint8_t> bytes(count);
  for (uint8_t& byte : bytes) byte = static_cast<uint8_t>(random() % 0x40);
  return bytes;
}

std::vector<float> activations(size_t count) {
  std::vector<float> values(count);
  std::mt19937 random(3);
  for (float& value : values) value = static_cast<float>(random() % 2001) / 512 - 2;
  return values;
}

tw_lhs_source source_of(const std::vector<float>& values, size_t k) {
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = values.data();
  source.stride = k * sizeof(float);
  source.data_bytes = values.size() * sizeof(float);
  return source;
}

std::vector<uint8_t> packed_rows(const tilewright::Plan& plan, const std::vector<float>& values,
                                 size_t k) {
  const size_t m = values.size() / k;
  std::vector<uint8_t> lhs(plan.lhs_bytes(m));
  for (size_t s = 0; s < plan.lhs_slices(m); ++s) {
    plan.pack_lhs(m, source_of(values, k), lhs.data(), lhs.size(), s);
  }
  return lhs;
}

/// Outputs of rows of k values. `used`: whether the scratch was written, as far as the plan wants
/// any.
std::vector<float> product(const tilewright::Plan& plan, const std::vector<uint8_t>& rhs,
                           const std::vector<float>& values, size_t n, size_t k, bool has_scratch,
                           bool* used) {
  const size_t m = values.size() / k;
  std::vector<float> outputs(m * n);
  const std::vector<uint8_t> lhs = packed_rows(plan, values, k);
  const size_t scratch_bytes = has_scratch ? plan.scratch_bytes(m) : 0;
  GuardedBuffer scratch("scratch", scratch_bytes, Flush::end);
  constexpr uint8_t untouched = 0xa5;
  scratch.fill(untouched);
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs = rhs.data();
  args.rhs_bytes = rhs.size();
  args.dst = outputs.data();
  args.dst_bytes = outputs.size() * sizeof(float);
  args.dst_stride = n * sizeof(float);
  args.scratch = has_scratch ? scratch.data() : nullptr;
  args.scratch_bytes = scratch_bytes;
  for (size_t s = 0; s < plan.run_slices(m); ++s) plan.run(args, s);
  *used = std::any_of(scratch.data(), scratch.data() + scratch_bytes,
                      [](uint8_t byte) { return byte != untouched; });
  return outputs;
}

/// Whose weights are the decoder's, on its ISA.
tilewright::Plan plan_of(const tw_kernel& decoder, size_t n, size_t k, tw_decode decode) {
  tw_device device = tilewright::detect();
  tilewright::check(tw_device_limit(&device, decoder.isa));
  const std::string family =
      std::string("matmul_clamp_f32_qsi8d32p_") + (decoder.family + std::strlen("decode_s8_"));
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family.c_str();
  matmul.n = n;
  matmul.k = k;
  matmul.rhs_layout = decoder.rhs->id;
  matmul.threads = 1;
  matmul.tuning.decode = decode;
  return tilewright::Plan(device, matmul);
}

/// Whether m rows are multiplied by decoded weights, as the plan says in both of its ways.
bool decodes(const tilewright::Plan& plan, size_t m) {
  const tw_kernel* found = nullptr;
  tw_tuning tuning = {};
  tilewright::check(tw_plan_decoder(plan.get(), m, &found));
  tilewright::check(tw_plan_tuning(plan.get(), m, &tuning));
  EXPECT_EQ(tuning.decode, found != nullptr ? TW_DECODE_ALWAYS : TW_DECODE_NEVER);
  return found != nullptr;
}

TEST_P(DecodedBlocks, ProductsOfManyRowsHaveTheSameBits) {
  const tw_kernel& decoder = *GetParam().decoder;
  const size_t n = 3 * panel_rows(*decoder.rhs) + 5, k = 2 * decoder.rhs->block;
  const tilewright::Plan plan = plan_of(decoder, n, k, TW_DECODE_UNSET);
  ASSERT_TRUE(decodes(plan, kManyRows));
  EXPECT_FALSE(decodes(plan, 1));
  EXPECT_FALSE(decodes(plan_of(decoder, n, k, TW_DECODE_NEVER), kManyRows));
  const std::vector<uint8_t> rhs = random_bytes(plan.rhs_bytes());
  bool used = false;
  const std::vector<float> rows = activations(kManyRows * k);
  const std::vector<float> with = product(plan, rhs, rows, n, k, true, &used);
  EXPECT_TRUE(used);
  const std::vector<float> without = product(plan, rhs, rows, n, k, false, &used);
  EXPECT_EQ(std::memcmp(with.data(), without.data(), with.size() * sizeof(float)), 0);
}

/// Whatever the cost model says of the kernels that multiply by them.
TEST_P(DecodedBlocks, AreMadeForFewRowsWhereACallerSaysSo) {
  const tw_kernel& decoder = *GetParam().decoder;
  const size_t panel = panel_rows(*decoder.rhs), k = decoder.rhs->block;
  const size_t m = GetParam().kernel->tile_m;
  const tilewright::Plan plan = plan_of(decoder, panel, k, TW_DECODE_ALWAYS);
  tw_plan& slow = *const_cast<tw_plan*>(plan.get());
  for (tw_choice& choice : slow.decoding.split.choices) choice.tile_cycles *= 1000;
  EXPECT_TRUE(decodes(plan, m));
  const std::vector<uint8_t> rhs = random_bytes(plan.rhs_bytes());
  bool used = false;
  const std::vector<float> rows = activations(m * k);
  const std::vector<float> with = product(plan, rhs, rows, panel, k, true, &used);
  EXPECT_TRUE(used);
  EXPECT_EQ(with, product(plan, rhs, rows, panel, k, false, &used));
}

/// What decodes in a plan, and how often it did.
void (*decoder_of_plan)(const tw_args*);
size_t panels_decoded;
void decode_and_count(const tw_args* args) {
  ++panels_decoded;
  decoder_of_plan(args);
}

/// Of groups: one of many rows, whose outputs are scattered, or neighbors, and one of few.
std::vector<float> product_of_groups(const tilewright::Plan& plan,
                                     const std::array<std::vector<uint8_t>, 2>& weights,
                                     const std::vector<float>& values, size_t n, size_t k,
                                     const std::vector<size_t>& rows) {
  const size_t m = rows.size();
  const size_t starts[] = {0, m - 2, m};
  const void* rhs[] = {weights[0].data(), weights[1].data()};
  tw_group_part parts[2];
  auto groups = tilewright::sized<tw_groups>();
  groups.count = 2;
  groups.starts = starts;
  groups.lhs_rows = rows.data();
  groups.list_count = groups.lhs_row_count = groups.dst_row_count = m;
  groups.rhs = rhs;
  groups.parts = parts;
  tilewright::check(tw_groups_prepare(plan.get(), &groups));
  GuardedBuffer scratch("scratch", groups.scratch_bytes, Flush::end);
  std::vector<uint8_t> lhs(groups.lhs_bytes);
  tw_lhs_source source = source_of(values, k);
  source.scratch = scratch.data();
  source.scratch_bytes = scratch.size();
  for (size_t s = 0; s < groups.lhs_slices; ++s) {
    tilewright::check(tw_groups_pack_lhs(plan.get(), &groups, &source, lhs.data(), lhs.size(), s));
  }
  std::vector<float> outputs(m * n);
  auto args = tilewright::sized<tw_run_args>();
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs_bytes = plan.rhs_bytes();
  args.dst = outputs.data();
  args.dst_bytes = outputs.size() * sizeof(float);
  args.dst_stride = n * sizeof(float);
  args.scratch = scratch.data();
  args.scratch_bytes = scratch.size();
  for (size_t s = 0; s < groups.run_slices; ++s) {
    tilewright::check(tw_groups_run(plan.get(), &groups, &args, s));
  }
  return outputs;
}

/// The plan's decoder, counted while `counting` lives.
void count_panels(const tilewright::Plan& plan, tw_kernel& counting) {
  counting = *plan.get()->decoding.decoder;
  decoder_of_plan = counting.run;
  counting.run = decode_and_count;
  const_cast<tw_plan*>(plan.get())->decoding.decoder = &counting;
  panels_decoded = 0;
}

/// Two packed weights that differ.
std::array<std::vector<uint8_t>, 2> two_weights(const tilewright::Plan& plan) {
  std::array<std::vector<uint8_t>, 2> weights = {random_bytes(plan.rhs_bytes()),
                                                 random_bytes(plan.rhs_bytes())};
  std::reverse(weights[1].begin(), weights[1].end());
  return weights;
}

TEST_P(DecodedBlocks, GroupsHaveTheSameBits) {
  const tw_kernel& decoder = *GetParam().decoder;
  const size_t n = 2 * panel_rows(*decoder.rhs) + 5, k = decoder.rhs->block, m = kManyRows + 2;
  const tilewright::Plan plan = plan_of(decoder, n, k, TW_DECODE_UNSET);
  ASSERT_TRUE(decodes(plan, kManyRows));
  const auto weights = two_weights(plan);
  std::vector<float> values = activations(m * k), first(values.begin(), values.end() - 2 * k);
  bool used = false;
  std::vector<float> wanted = product(plan, weights[0], first, n, k, false, &used);
  std::vector<float> last(values.end() - 2 * k, values.end());
  for (const float value : product(plan, weights[1], last, n, k, false, &used)) {
    wanted.push_back(value);
  }
  tw_kernel counting;
  count_panels(plan, counting);
  std::vector<size_t> rows(m);
  std::iota(rows.begin(), rows.end(), size_t{0});
  for (const bool scattered : {false, true}) {
    if (scattered) std::reverse(rows.begin(), rows.end() - 2);  // values and outputs alike
    panels_decoded = 0;
    EXPECT_EQ(product_of_groups(plan, weights, values, n, k, rows), wanted);
    // Once for all rows, none for those of the last group.
    EXPECT_EQ(panels_decoded, tw_divide_up(n, panel_rows(*decoder.rhs)));
  }
}

/// What both products of a gated layer are, put together again.
struct GatedValues {
  size_t n;
  std::vector<float> gate, up;
  static void put(const tw_gated_values* values) {
    auto& all = *static_cast<GatedValues*>(values->context);
    const size_t at = values->row * all.n + values->column;
    std::memcpy(all.gate.data() + at, values->gate, values->count * sizeof(float));
    std::memcpy(all.up.data() + at, values->up, values->count * sizeof(float));
  }
};

TEST_P(DecodedBlocks, GatedLayersHaveTheSameBits) {
  const tw_kernel& decoder = *GetParam().decoder;
  const size_t n = 2 * panel_rows(*decoder.rhs) + 5, k = decoder.rhs->block, m = kManyRows;
  const tilewright::Plan plan = plan_of(decoder, n, k, TW_DECODE_UNSET);
  const auto weights = two_weights(plan);
  const std::vector<float> values = activations(m * k);
  const std::vector<uint8_t> lhs = packed_rows(plan, values, k);
  size_t scratch_bytes = 0;
  tilewright::check(tw_gated_scratch_bytes(plan.get(), m, &scratch_bytes));
  const GuardedBuffer scratch("scratch", scratch_bytes, Flush::end);
  GatedValues found{n, std::vector<float>(m * n), std::vector<float>(m * n)};
  auto gated = tilewright::sized<tw_gated>();
  gated.up = weights[1].data();
  gated.each = GatedValues::put;
  gated.context = &found;
  auto args = tilewright::sized<tw_run_args>();
  args.m = m;
  args.lhs = lhs.data();
  args.lhs_bytes = lhs.size();
  args.rhs = weights[0].data();
  args.rhs_bytes = plan.rhs_bytes();
  args.scratch = scratch.data();
  args.scratch_bytes = scratch.size();
  tw_kernel counting;
  count_panels(plan, counting);
  for (size_t s = 0; s < plan.run_slices(m); ++s) {
    tilewright::check(tw_gated_run(plan.get(), &gated, &args, s));
  }
  EXPECT_GE(panels_decoded, 6U);  // of both
  bool used = false;
  EXPECT_EQ(found.gate, product(plan, weights[0], values, n, k, false, &used));
  EXPECT_EQ(found.up, product(plan, weights[1], values, n, k, false, &used));
}

INSTANTIATE_TEST_SUITE_P(, DecodedBlocks, testing::ValuesIn(running_pairs()),
                         [](const auto& pair) { return std::string(pair.param.kernel->name); });
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(DecodedBlocks);

/// Of a plan for the cores that the kernel is for; 0: those are not known.
double rate_of(const tw_kernel& decoder, const tw_kernel& kernel) {
  const tilewright::Plan plan =
      plan_of(decoder, panel_rows(*decoder.rhs), decoder.rhs->block, TW_DECODE_UNSET);
  tw_plan of_core = *plan.get();
  of_core.core = nullptr;
  for (size_t c = 0; c < tw_generated_core_count; ++c) {
    const tw_core& core = tw_generated_cores[c];
    if (std::strcmp(core.name, kernel.core) == 0) of_core.core = &core;
  }
  return of_core.core == nullptr ? 0 : tw_plan_rate(&of_core, &kernel);
}

/// Each decoder has a kernel of its ISA, and none reads what no decoder writes.
TEST(Decoders, HaveKernelsWhoseRatesAreKnown) {
  const tw_device here = tilewright::detect();
  size_t decoders = 0, kernels = 0, rates = 0;
  for (size_t d = 0; d < tw_generated_decoder_count; ++d) {
    const tw_kernel& decoder = tw_generated_decoders[d];
    if (decoder.dst != TW_S8 || decoder.rhs->block == 0) continue;
    ++decoders;
    size_t its = 0;
    for (size_t i = 0; i < tw_generated_part_count; ++i) {
      const tw_kernel& kernel = tw_generated_parts[i];
      if (kernel.rhs != decoder.decoded || std::strcmp(kernel.isa, decoder.isa) != 0) continue;
      ++its;
      if (decoder.run == nullptr || tw_kernel_supported(&decoder, &here) == 0) continue;
      const double rate = rate_of(decoder, kernel);
      if (rate == 0) continue;
      ++rates;
      EXPECT_NEAR(rate, kernel.macs_per_cycle, 0.06) << kernel.name;
    }
    EXPECT_NE(its, 0U) << decoder.name;
    kernels += its;
  }
  size_t wanted = 0;
  for (size_t i = 0; i < tw_generated_part_count; ++i) {
    const char* family = tw_generated_parts[i].family;
    wanted += std::strncmp(family, "matmul_decoded_", std::strlen("matmul_decoded_")) == 0 ? 1 : 0;
  }
  EXPECT_NE(decoders, 0U);
  EXPECT_EQ(kernels, wanted);
#if defined(__x86_64__)  // others have no rates by core
  EXPECT_NE(rates, 0U);
#endif
}

}  // namespace
}  // namespace tw::test::decoded_blocks_test
