// KleidiAI's packers of int4 for static activations on SME, which are told structs: ours write the
// same bytes.
#include "kleidiai/names/struct_packers.h"

#include <gtest/gtest.h>

#include <random>

#include "kleidiai/names/parts.h"
#include "kleidiai/names/refused.h"
#include "names.h"

// Ours, with the types of theirs.
extern "C" {
#define OURS(name) decltype(kai_run_##name) our_kai_run_##name;
TW_KAI_STRUCT_PACKERS(OURS)
#undef OURS
size_t our_kai_get_n_step_matmul_clamp_qai8_qai8p2vlx4_qsi8cxpsb2vlx4_2vlx2vl_sme2_mopa(void);
}

namespace tw::test {

std::vector<Both<StructPacker>> struct_packers() {
  std::vector<Both<StructPacker>> all;
  if (!runs_here("_sme") || !runs_here("vlx1b_sve")) return all;
#define BOTH(name) all.push_back({#name, kai_run_##name, our_kai_run_##name});
  TW_KAI_STRUCT_PACKERS(BOTH)
#undef BOTH
  return all;
}

namespace {

/// Columns of a panel: twice a streaming vector's lanes of 32 bits.
size_t panel() {
  return our_kai_get_n_step_matmul_clamp_qai8_qai8p2vlx4_qsi8cxpsb2vlx4_2vlx2vl_sme2_mopa();
}

struct Weights {
  size_t n = 0, k = 0, stride = 0, panel_bytes = 0;
  bool kxn = false;
  std::vector<uint8_t> codes;
  std::vector<int32_t> bias;
  std::vector<float> scales;
  int32_t sum_scale = 0;
  float multiplier = 0;

  [[nodiscard]] kai_matmul_pack_rhs_uker_args told(uint8_t* packed) const {
    kai_matmul_pack_rhs_uker_args args{};
    args.shape.n = n;
    args.shape.k = k;
    args.operand.rhs.ptr = codes.data();
    (kxn ? args.operand.rhs.stride.k : args.operand.rhs.stride.n) = stride;
    args.operand.rhs_packed.ptr = packed;
    args.operand.rhs_packed.stride.n = panel_bytes;
    args.operand.bias_n.ptr = bias.data();
    args.operand.k_sum_scale_global.ptr = &sum_scale;
    args.operand.scale_n.ptr = scales.data();
    args.operand.scale_global.ptr = &multiplier;
    return args;
  }
};

Weights random_weights(bool kxn, std::mt19937& random) {
  Weights it;
  it.kxn = kxn;
  it.n = up_to(3 * panel() + 3, random);
  it.k = up_to(random() % 4 == 0 ? 300 : 70, random);
  it.stride = ((kxn ? it.n : it.k) + 1) / 2 + random() % 3;
  const size_t padded = (it.k + 31) / 32 * 32;
  it.panel_bytes = panel() * (4 + padded / 2 + 4) + 4 * (random() % 3);
  it.codes.resize((kxn ? it.k : it.n) * it.stride);
  for (uint8_t& code : it.codes) code = static_cast<uint8_t>(random());
  std::uniform_real_distribution<float> any(-1, 1);
  for (size_t i = 0; i < it.n; ++i) {
    it.bias.push_back(static_cast<int32_t>(random() % 20001) - 10000);
    it.scales.push_back(any(random));
  }
  it.sum_scale = static_cast<int32_t>(random() % 257) - 128;
  it.multiplier = any(random);
  return it;
}

class KleidiaiStructPackers : public testing::TestWithParam<Both<StructPacker>> {};

TEST_P(KleidiaiStructPackers, WriteTheSameBytes) {
  const auto& [name, theirs, ours] = GetParam();
  const bool kxn = name.find("kxn") != std::string::npos;
  std::mt19937 random(11);
  for (int i = 0; i < 2 * cases; ++i) {
    const Weights weights = random_weights(kxn, random);
    const auto packed = [&](StructPacker run) {
      const size_t panels = (weights.n + panel() - 1) / panel();
      std::vector<uint8_t> all(panels * weights.panel_bytes, unwritten);
      const kai_matmul_pack_rhs_uker_args args = weights.told(all.data());
      run(nullptr, &args, i % 2 == 0 ? 8 : 0);
      return all;
    };
    ASSERT_EQ(packed(ours), packed(theirs)) << weights.n << " x " << weights.k;
  }
}

TEST_P(KleidiaiStructPackers, RefuseTheSame) {
  const auto& [name, theirs, ours] = GetParam();
  std::mt19937 random(12);
  const Weights weights = random_weights(name.find("kxn") != std::string::npos, random);
  std::vector<uint8_t> packed((weights.n / panel() + 1) * weights.panel_bytes);
  using Args = kai_matmul_pack_rhs_uker_args;
  const auto expect = [&](bool refused, int32_t zero_point, void (*change)(Args&)) {
    Args args = weights.told(packed.data());
    change(args);
    expect_both_refuse(refused, [&, their = theirs, our = ours](bool t) {
      (t ? their : our)(nullptr, &args, zero_point);
    });
  };
  expect(false, 8, [](Args&) {});
  expect(false, 0, [](Args& it) { it.shape.n = 0; });
  expect(true, 4, [](Args&) {});
  expect(true, 0, [](Args& it) { it.flags = 1; });
  expect(true, 0, [](Args& it) { it.operand.rhs.ptr = nullptr; });
  expect(true, 0, [](Args& it) { it.operand.rhs_packed.ptr = nullptr; });
  expect(true, 0, [](Args& it) { it.operand.bias_n.ptr = nullptr; });
  expect(true, 0, [](Args& it) { it.operand.k_sum_scale_global.ptr = nullptr; });
  expect(true, 0, [](Args& it) { it.operand.scale_n.ptr = nullptr; });
  expect(true, 0, [](Args& it) { it.operand.scale_global.ptr = nullptr; });
}

GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(KleidiaiStructPackers);
INSTANTIATE_TEST_SUITE_P(, KleidiaiStructPackers, testing::ValuesIn(struct_packers()),
                         [](const auto& it) { return it.param.name; });

}  // namespace
}  // namespace tw::test
