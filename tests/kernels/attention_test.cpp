// Attention by all kernels that this machine can run, against the reference in double.
#include "kernels/attention.h"

#include <gtest/gtest.h>

#include <cfloat>
#include <cstdio>
#include <cstring>
#include <map>

#include "kernels/rows.h"
#include "support/call_checked.h"
#include "support/environment.h"

namespace tw::test {
namespace {

constexpr const char* printers[] = {"intrinsics", "assembly"};

/// `in`: what else there is.
Attention shape(size_t queries, size_t positions, size_t heads, size_t kv_heads, size_t key_size,
                size_t value_size, Attention in = {}) {
  in.queries = queries;
  in.positions = positions;
  in.heads = heads;
  in.kv_heads = kv_heads;
  in.key_size = key_size;
  in.value_size = value_size;
  fill_attention(in, static_cast<uint32_t>(queries * 1000 + positions));
  return in;
}

/// By every ISA and printer; `change` sets options.
template <typename Change>
void expect_right(const Attention& in, const Change& change) {
  for (const std::string& isa : attention_isas(in.key_size, in.value_size)) {
    for (const char* printer : printers) {
      if (isa == "scalar" && std::strcmp(printer, "assembly") == 0) continue;
      AttentionOptions options;
      options.isa = isa.c_str();
      options.printer = printer;
      change(options);
      EXPECT_EQ(compare_attention(in, run_attention(in, options)), "")
          << isa << " " << printer << ": " << in.queries << " queries, " << in.positions
          << " positions, " << in.heads << " heads of " << in.kv_heads << ", of " << in.key_size
          << " and " << in.value_size;
    }
  }
}

void expect_right(const Attention& in) {
  expect_right(in, [](AttentionOptions&) {});
}

TEST(Attention, QueriesPositionsAndHeads) {
  size_t number = 0, turn = 0;
  for (const size_t queries : {1, 3, 33}) {
    for (const size_t positions : {1, 5, 63, 64, 65, 200}) {
      for (const size_t group : {1, 2, 4, 8}) {
        // Any two of them meet; all three in long runs.
        const size_t sum = turn / 24 + turn / 4 + turn % 4;
        ++turn;
        if (!is_long() && sum % 3 != 0) continue;
        const size_t kv_heads = 1 + number % 3;
        Attention in = shape(queries, positions, group * kv_heads, kv_heads, 64, 64);
        if (number % 3 != 0) fill_mask(in, 1, static_cast<uint32_t>(number));
        if (number % 5 == 0) in.mask_type = "f32";
        expect_right(in, [&](AttentionOptions& options) {
          options.flush = number % 2 == 0 ? Flush::end : Flush::start;
          options.gap = number % 4 == 0 ? 0 : 6;
          options.heads_first = number % 4 == 2;
        });
        ++number;
      }
    }
  }
}

TEST(Attention, SizesOfHeads) {
  for (const size_t size : {1, 4, 7, 8, 16, 40, 80, 96, 112, 128, 192, 256}) {
    expect_right(shape(2, 70, 3, 1, size, size));
    expect_right(shape(1, 70, 3, 1, size, size == 192 ? 128 : 2 * size));
  }
}

/// Of K, and of V, at any address. Others have both of f16.
TEST(Attention, TypesOfPositions) {
  const char* const types[][2] = {
      {"q8_0", "q8_0"}, {"q8_0", "f16"},  {"f16", "q8_0"}, {"f32", "f32"}, {"bf16", "bf16"},
      {"q4_0", "q4_0"}, {"q8_0", "q4_0"}, {"s8", "s8"},    {"s8", "q8_0"}, {"f16", "s8"}};
  constexpr size_t positions[] = {130, 1, 64, 5};
  size_t number = 0;
  for (const auto& [key_type, value_type] : types) {
    for (const size_t size : {32, 64, 96, 128, 256}) {
      for (const size_t queries : {1, 7, 33}) {
        const size_t kv_heads = 1 + number % 2, group = 1 + number % 4;
        Attention in;
        in.key_type = key_type;
        in.value_type = value_type;
        in = shape(queries, positions[number % 4], group * kv_heads, kv_heads, size,
                   number % 3 == 0 ? 320 - size : size, in);
        if (number % 2 == 0) fill_mask(in, 1, static_cast<uint32_t>(number));
        expect_right(in, [&](AttentionOptions& options) {
          options.flush = number % 3 == 0 ? Flush::start : Flush::end;
          options.gap = number % 4 == 0 ? 0 : 3;
          options.heads_first = number % 4 == 2;
          options.threads = 1 + number % 3;
        });
        ++number;
      }
    }
  }
}

/// So wide that K is read some positions at a time, in one piece or with gaps.
TEST(Attention, OneQueryOfManyHeads) {
  size_t number = 0;
  for (const char* type : {"f32", "f16", "s8"}) {
    for (const size_t positions : {5, 64, 203}) {
      for (const size_t group : {1, 4}) {
        Attention in;
        in.key_type = in.value_type = type;
        in = shape(1, positions, 8 * group, 8, 128, 96, in);
        if (number % 3 != 0) fill_mask(in, 1, static_cast<uint32_t>(number));
        expect_right(in, [&](AttentionOptions& options) {
          options.flush = number % 2 == 0 ? Flush::end : Flush::start;
          options.gap = number % 3 == 2 ? 6 : 0;
          options.threads = 1 + number % 2;
        });
        ++number;
      }
    }
  }
}

/// One query, more threads than heads: positions are divided and merged.
TEST(Attention, PartsOfPositions) {
  for (const size_t threads : {2, 3, 4, 16}) {
    for (const size_t positions : {100, 513, 2000}) {
      Attention in = shape(1, positions, 4, 2, 64, 64);
      fill_mask(in, 1, 5);
      in.sinks = {1, -2, 0, 3};
      expect_right(in, [&](AttentionOptions& options) { options.threads = threads; });
    }
  }
  const Attention in = shape(40, 300, 2, 1, 64, 64);
  expect_right(in, [&](AttentionOptions& options) { options.threads = 7; });
}

TEST(Attention, MasksOfHeadsAndSlopes) {
  for (const char* type : {"f16", "f32"}) {
    for (const size_t mask_heads : {1, 6}) {
      for (const size_t queries : {1, 5}) {
        Attention in = shape(queries, 90, 6, 2, 64, 64);
        in.mask_type = type;
        fill_mask(in, mask_heads, 3);
        expect_right(in);
        in.max_bias = 8;
        expect_right(in);
      }
    }
  }
}

TEST(Attention, SoftcapAndSinks) {
  Attention in = shape(3, 90, 4, 2, 64, 80);
  fill_mask(in, 1, 3);
  in.softcap = 2.5F;
  expect_right(in);
  in.sinks = {0, 5, -1, -INFINITY};
  expect_right(in);
  in.softcap = 0;
  expect_right(in);
}

/// Scores of int8 are scaled before they are capped; zeros may be left out.
TEST(Attention, SoftcapAndNoZerosOfInt8) {
  Attention in;
  in.key_type = in.value_type = "s8";
  in = shape(3, 90, 4, 2, 64, 80, in);
  in.softcap = 1.5F;
  expect_right(in);
  for (size_t i = 0; i < in.k_scales.size(); ++i) {
    for (size_t j = 0; j < in.key_size; ++j) {
      in.k[i * in.key_size + j] = static_cast<float>((i + j * 37) % 255) * in.k_scales[i].scale -
                                  127 * in.k_scales[i].scale;
    }
    in.k_scales[i].zero = 0;
  }
  in.sinks = {0, 5, -1, -INFINITY};
  expect_right(in);
}

/// Scores far apart: what is below e^-88 of the largest is 0, later blocks take the lead.
TEST(Attention, LargeScores) {
  Attention in = shape(4, 200, 2, 1, 64, 64);
  in.scale = 20;
  expect_right(in);
  for (size_t i = 0; i < in.k.size(); ++i) {
    in.k[i] = rounded_to("f16", in.k[i] * static_cast<float>(i / 64 + 1) / 200);
  }
  expect_right(in);
}

/// Rows without any position are 0, others are as without them.
TEST(Attention, MaskedRowsAreZero) {
  Attention in = shape(70, 130, 2, 1, 64, 64);
  fill_mask(in, 1, 3);
  for (size_t i = 0; i < in.mask.size(); ++i) {
    const size_t query = i / in.positions;
    if (query % 3 == 0 || query > 60) in.mask[i] = -INFINITY;
  }
  expect_right(in);
  for (const std::string& isa : attention_isas(64, 64)) {
    AttentionOptions options;
    options.isa = isa.c_str();
    const std::vector<float> found = run_attention(in, options);
    for (size_t i = 0; i < 2 * in.value_size; ++i) EXPECT_EQ(found[i], 0) << isa;
  }
  in.sinks = {1, 2};
  expect_right(in);
}

/// A NaN anywhere in a row makes its outputs NaNs, and no others.
TEST(Attention, NumbersThatAreNone) {
  for (const float none : {NAN, INFINITY}) {
    Attention in = shape(3, 80, 2, 2, 64, 64);
    in.k[5 * 2 * 64] = none;  // of the first head, position 5
    for (size_t query = 0; query < 3; ++query) in.q[query * 2 * 64] = 1;
    expect_right(in);
    in = shape(3, 80, 2, 2, 64, 64);
    in.q[2 * 64] = NAN;  // of the second query, first head
    expect_right(in);
    in = shape(3, 80, 2, 2, 64, 64);
    fill_mask(in, 1, 2);
    in.mask[7] = NAN;
    expect_right(in);
  }
}

TEST(Attention, IntrinsicsAndAssemblyGiveTheSameBits) {
  int pairs = 0;
  for (const std::string& isa : attention_isas(80, 96)) {
    if (isa == "scalar") continue;
    for (const auto& [type, positions] : {std::pair{"f16", 3},
                                          {"f16", 64},
                                          {"f16", 150},
                                          {"q8_0", 151},
                                          {"q4_0", 65},
                                          {"s8", 65},
                                          {"f32", 70},
                                          {"bf16", 9}}) {
      Attention in;
      in.key_type = in.value_type = type;
      in = shape(7, static_cast<size_t>(positions), 8, 2, has_blocks(type) ? 64 : 80, 96, in);
      if (positions != 64) fill_mask(in, 1, 9);
      in.scale = 3;
      AttentionOptions options;
      options.isa = isa.c_str();
      options.printer = "intrinsics";
      const std::vector<float> compiled = run_attention(in, options);
      options.printer = "assembly";
      const std::vector<float> assembled = run_attention(in, options);
      ASSERT_EQ(std::memcmp(compiled.data(), assembled.data(), compiled.size() * 4), 0) << isa;
      ++pairs;
    }
  }
  std::printf("%d pairs\n", pairs);
}

TEST(Attention, EachRowRunsItsOwnFunctionWhereItShould) {
  const std::vector<const tw_attention_kernel*> running = running_attention_kernels();
  std::map<tw_kernel_fn, std::string> functions;
  for (size_t i = 0; i < tw_generated_attention_kernel_count; ++i) {
    const tw_attention_kernel& row = tw_generated_attention_kernels[i];
    const bool runs = std::find(running.begin(), running.end(), &row) != running.end();
    if (row.kernel.run == nullptr) continue;
    EXPECT_EQ(runs, should_run(row.kernel.isa, row.kernel.features)) << row.kernel.name;
    EXPECT_TRUE(functions.emplace(row.kernel.run, row.kernel.name).second) << row.kernel.name;
  }
}

/// The kernels alone.
class AttentionKernel : public testing::TestWithParam<const tw_attention_kernel*> {};

TEST_P(AttentionKernel, KeepsItsCallersRegisters) {
  const tw_attention_kernel& row = *GetParam();
  std::vector<float> floats(16 * 4096);
  std::vector<uint16_t> halves(16 * 4096);
  tw_args args{};
  args.size = sizeof args;
  args.m = 7;
  args.n = row.stage == TW_ATTENTION_VALUES ? 3 * row.kernel.tile_n : 13;
  args.k = 32;
  args.lhs = floats.data();
  args.rhs = halves.data();
  args.lhs_stride = args.rhs_stride = args.dst_stride = 2048;
  args.dst = floats.data() + 2 * 8192;
  const CallReport report = call_checked(reinterpret_cast<Function>(row.kernel.run), &args);
  ASSERT_EQ(report.signal, 0) << fault_name(report.signal);
  const bool assembly = std::strcmp(row.kernel.printer, "assembly") == 0;
  const uint64_t clobbered = report.clobbered & ~(assembly ? 0 : compilers_choice());
  EXPECT_EQ(clobbered, 0U) << register_names(clobbered);
}

/// Weights of a row of such scores, of which the first is 0.
std::vector<float> weights_of(const tw_attention_kernel& row, const std::vector<float>& scores) {
  const auto lanes = static_cast<std::ptrdiff_t>(row.kernel.tile_n);
  constexpr std::ptrdiff_t state_vectors = 5;
  std::vector<float> all(static_cast<size_t>(state_vectors * lanes), 0);
  // Where positions have them: scales of 1, zero points of 0.
  std::vector<float> beside(4 * scores.size());
  for (size_t i = 0; i < beside.size(); ++i) beside[i] = i / row.kernel.tile_n % 2 == 0 ? 1 : 0;
  std::fill(all.begin(), all.begin() + lanes, -FLT_MAX);
  all.insert(all.end(), scores.begin(), scores.end());
  tw_args args{};
  args.size = sizeof args;
  args.m = 1;
  args.n = scores.size();
  args.dst = all.data();
  args.rhs = beside.data();
  args.lhs = all.data();  // no mask is read, but C's null must not be moved, not even by 0
  row.kernel.run(&args);
  return {all.begin() + state_vectors * lanes, all.end()};
}

class AttentionWeights : public AttentionKernel {};

TEST_P(AttentionWeights, ExponentialsAreWithinTwoUnits) {
  const tw_attention_kernel& row = *GetParam();
  constexpr size_t step = 4096;
  double worst = 0;
  // All floats from -2^-30 to -87.3, a step apart.
  std::vector<float> scores = {0};
  for (uint32_t bits = 0xb0800000; bits < 0xc2ae9999; bits += 211) {
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    scores.push_back(x);
    if (scores.size() < step) continue;
    const std::vector<float> weights = weights_of(row, scores);
    for (size_t i = 0; i < scores.size(); ++i) {
      const double right = std::exp(double{scores[i]});
      const double one = std::ldexp(1.0, std::ilogb(right) - 23);
      worst = std::max(worst, std::fabs(weights[i] - right) / one);
    }
    scores = {0};
  }
  std::printf("%s: %.3f units\n", row.kernel.name, worst);
  EXPECT_LT(worst, 2);
  const float lowest[] = {0, -88, -100, -FLT_MAX, -INFINITY};
  scores.assign(step, -INFINITY);
  std::copy(std::begin(lowest), std::end(lowest), scores.begin());
  const std::vector<float> weights = weights_of(row, scores);
  EXPECT_EQ(weights[0], 1);
  for (size_t i = 1; i < step; ++i) ASSERT_EQ(weights[i], 0) << i;
}

/// What softcaps of 1 make of such a score: a row that has it in all lanes keeps it as the largest.
float capped(const tw_attention_kernel& row, float score) {
  const size_t lanes = row.kernel.tile_n;
  std::vector<float> all(6 * lanes, 0);
  std::fill(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(lanes), -FLT_MAX);
  std::fill(all.end() - static_cast<std::ptrdiff_t>(lanes), all.end(), score);
  std::vector<float> beside(4 * lanes);
  for (size_t i = 0; i < beside.size(); ++i) beside[i] = i / lanes % 2 == 0 ? 1 : 0;
  tw_args args{};
  args.size = sizeof args;
  args.m = 1;
  args.n = lanes;
  args.dst = all.data();
  args.rhs = beside.data();
  args.lhs = all.data();
  args.flags = 4;
  args.max = 1;
  row.kernel.run(&args);
  return all.front();
}

TEST_P(AttentionWeights, SoftcapsAreWithinTwoUnits) {
  double worst = 0;
  for (uint32_t bits = 0x30000000; bits < 0x42000000; bits += 20011) {  // 2^-31 to 32
    float x = 0;
    std::memcpy(&x, &bits, sizeof x);
    for (const float score : {x, -x}) {
      const double error = std::fabs(capped(*GetParam(), score) - std::tanh(double{score}));
      worst = std::max(worst, std::ldexp(error, 24));
    }
  }
  std::printf("%s: %.3f units of 2^-24\n", GetParam()->kernel.name, worst);
  EXPECT_LT(worst, 2);
  EXPECT_EQ(capped(*GetParam(), 1000), 1);
  EXPECT_EQ(capped(*GetParam(), -1000), -1);
  EXPECT_EQ(capped(*GetParam(), -INFINITY), -FLT_MAX);  // left out
}

std::vector<const tw_attention_kernel*> weights_kernels() {
  std::vector<const tw_attention_kernel*> rows = running_attention_kernels();
  std::erase_if(rows,
                [](const tw_attention_kernel* row) { return row->stage != TW_ATTENTION_WEIGHTS; });
  return rows;
}

std::string name_of(const testing::TestParamInfo<const tw_attention_kernel*>& row) {
  return row.param->kernel.name;
}

INSTANTIATE_TEST_SUITE_P(, AttentionKernel, testing::ValuesIn(running_attention_kernels()),
                         name_of);
INSTANTIATE_TEST_SUITE_P(, AttentionWeights, testing::ValuesIn(weights_kernels()), name_of);

}  // namespace
}  // namespace tw::test
