#include "spec/gguf_workload.h"

#include <gtest/gtest.h>

#include "folder.h"
#include "spec/workload_reader.h"
#include "spec/workload_writer.h"

namespace tw {
namespace {

constexpr uint32_t kF32 = 0, kF16 = 1, kQ4 = 2, kQ8 = 8, kQ8K = 15;

GgufModel model_of(std::vector<GgufTensor> tensors, uint64_t experts_used = 0) {
  return {"llama", "A model", experts_used, std::move(tensors)};
}

/// "name n k count", for each matmul of a model.
std::vector<std::string> matmuls(const GgufModel& model) {
  std::vector<std::string> found;
  for (const Matmul& m : workload_of(model).workload.matmuls) {
    found.push_back(m.name + ": " + std::to_string(m.n) + " " + std::to_string(m.k) + " " +
                    std::to_string(m.count));
  }
  return found;
}

using Texts = std::vector<std::string>;

TEST(GgufWorkload, GroupsByShapeAndType) {
  const GgufModel model = model_of({{"token_embd.weight", {64, 100}, kQ8},
                                    {"blk.0.attn_norm.weight", {64}, kF32},
                                    {"blk.0.attn_q.weight", {64, 64}, kQ4},
                                    {"blk.0.attn_q.bias", {64}, kF32},
                                    {"blk.0.attn_k.weight", {64, 32}, kQ4},
                                    {"blk.0.attn_output.weight", {64, 64}, kQ4},
                                    {"blk.0.ffn_down.weight", {128, 64}, kF16},
                                    {"blk.1.attn_q.weight", {64, 64}, kQ4},
                                    {"blk.1.attn_qkv.weight", {64, 192}, kF32},
                                    {"output.weight", {64, 100}, kQ8}});
  EXPECT_EQ(matmuls(model), (Texts{"ffn_down: 64 128 1", "attn_qkv: 192 64 1", "attn_k: 32 64 1",
                                   "attn_q attn_output: 64 64 3", "output: 100 64 1"}));
  const ModelWorkload made = workload_of(model);
  EXPECT_EQ(made.matrices, 7);
  EXPECT_EQ(made.remarks, Texts{"not multiplied, Q8_0: 1 x 100 x 64 (token_embd)"});
  const auto family = [&](size_t i) { return made.workload.matmuls[i].family; };
  EXPECT_EQ(family(0), "matmul_clamp_f32_f32_f16p");
  EXPECT_EQ(family(1), "matmul_clamp_f32_f32_f32p");
  EXPECT_EQ(family(2), "matmul_clamp_f32_qsi8d32p_qsi4c32p");
  EXPECT_EQ(made.workload.matmuls[2].block, 32);
  EXPECT_EQ(made.workload.matmuls[2].scales, "f16");
  EXPECT_EQ(family(4), "matmul_clamp_f32_qsi8d32p_qsi8c32p");
}

TEST(GgufWorkload, ServesEveryTypeWithItsFamily) {
  struct {
    uint32_t type;
    const char* rhs;
    int block;
    const char* scales = "f16";
  } const cases[] = {{3, "qmi4c32p", 32},    {6, "qsi5c32p", 32},          {7, "qmi5c32p", 32},
                     {12, "qmi4k32p", 256},  {13, "qmi5k32p", 256},        {14, "qsi6k16p", 256},
                     {10, "qmi2k16p", 256},  {11, "qsi3k16p", 256},        {20, "qnl4c32p", 32},
                     {23, "qnl4k32p", 256},  {39, "qmx4c32p", 32, "e8m0"}, {35, "qsi2c32p", 256},
                     {42, "qsi2c32p", 64},   {40, "qnv4k16p", 64},         {21, "qi3s4k32p", 256},
                     {18, "qi3x4k32p", 256}, {16, "qi2x3k16p", 256},       {17, "qi2x3k16p", 256},
                     {22, "qi2x3k16p", 256}, {19, "qi1x3k16p", 256},       {29, "qi1x3k16p", 256},
                     {41, "qsi1c128p", 128}, {34, "qsi2c32p", 256}};
  for (const auto& c : cases) {
    const ModelWorkload made = workload_of(model_of({{"output.weight", {256, 64}, c.type}}));
    ASSERT_EQ(made.workload.matmuls.size(), 1U) << c.type;
    const Matmul& matmul = made.workload.matmuls[0];
    EXPECT_EQ(matmul.family, std::string("matmul_clamp_f32_qsi8d32p_") + c.rhs);
    EXPECT_EQ(matmul.block, c.block) << c.type;
    EXPECT_EQ(matmul.scales, c.scales) << c.type;
    const Folder folder;  // what is written can be read
    const Workload read = read_workload(folder.write("w.yaml", workload_text(made.workload, {})));
    EXPECT_EQ(read.matmuls.at(0).block, c.block) << c.type;
  }
}

TEST(GgufWorkload, TiedEmbeddingsAreTheOutput) {
  EXPECT_EQ(matmuls(model_of({{"token_embd.weight", {64, 100}, kQ8}})),
            Texts{"token_embd: 100 64 1"});
}

TEST(GgufWorkload, CountsTheExpertsThatATokenUses) {
  const std::vector<GgufTensor> tensors = {{"blk.0.ffn_up_exps.weight", {64, 128, 8}, kQ4},
                                           {"blk.1.ffn_up_exps.weight", {64, 128, 8}, kQ4},
                                           {"blk.0.ffn_gate_inp.weight", {64, 8}, kF32},
                                           {"blk.0.ffn_up_shexp.weight", {64, 256}, kQ4},
                                           {"blk.0.attn_k_b.weight", {64, 16, 4}, kQ4}};
  EXPECT_EQ(matmuls(model_of(tensors, 2)),
            (Texts{"ffn_gate_inp: 8 64 1", "attn_k_b: 16 64 4", "ffn_up_exps: 128 64 4",
                   "ffn_up_shexp: 256 64 1"}));
  EXPECT_EQ(matmuls(model_of(tensors)).at(2), "ffn_up_exps: 128 64 16");
  std::vector<GgufTensor> apart;
  for (const char* expert : {"0", "1", "2", "3"}) {
    apart.push_back({std::string("blk.0.ffn_up.") + expert + ".weight", {64, 128}, kQ4});
  }
  EXPECT_EQ(matmuls(model_of(apart, 2)), Texts{"ffn_up: 128 64 2"});
  EXPECT_EQ(matmuls(model_of(apart)), Texts{"ffn_up: 128 64 4"});
}

TEST(GgufWorkload, SaysWhatIsNotServed) {
  const ModelWorkload made = workload_of(model_of({{"blk.0.attn_q.weight", {256, 64}, kQ8K},
                                                   {"blk.1.attn_q.weight", {256, 64}, kQ8K},
                                                   {"blk.0.attn_v.weight", {256, 64}, 77},
                                                   {"blk.0.ssm_in.weight", {256, 64}, kQ4},
                                                   {"output.weight", {256, 64}, kQ8K}}));
  EXPECT_TRUE(made.workload.matmuls.empty());
  EXPECT_EQ(made.remarks, (Texts{"not served, Q8_K: 3 x 64 x 256 (attn_q output)",
                                 "not served, type 77: 1 x 64 x 256 (attn_v)",
                                 "not multiplied, Q4_0: 1 x 64 x 256 (ssm_in)"}));
}

TEST(GgufWorkload, RefusesAbsurdlyManyShapes) {
  std::vector<GgufTensor> tensors;
  for (uint64_t n = 2; n < 1100; ++n) {
    tensors.push_back({"blk." + std::to_string(n) + ".attn_q.weight", {64, n}, kQ4});
  }
  EXPECT_THROW(workload_of(model_of(tensors)), std::runtime_error);
}

// Names of a file that somebody else wrote: quotes, line breaks, bytes of no alphabet.
TEST(GgufWorkload, WhatIsWrittenIsRead) {
  GgufModel model = model_of({{"blk.0.attn_\"q\nm: 1\\.weight", {64, 64}, kQ4},
                              {"blk.0.attn_?q?m: 1?.weight", {32, 64}, kQ4},
                              {"blk.0.attn_q.weight", {64, 96}, kQ4},
                              {"blk.0.attn_\xff.weight", {64, 100}, kF16},
                              {"blk.1.attn_q.weight", {32, 96}, kQ4},
                              {"blk.1.\n#x.weight", {32, 96}, kQ4}});
  model.name = "My \"model\"\nworkload: x";
  const ModelWorkload made = workload_of(model);
  const Folder folder;
  const std::string text = workload_text(made.workload, made.remarks);
  const Workload read = read_workload(folder.write("w.yaml", text));
  EXPECT_EQ(read.name, "My ?model??workload: x");
  EXPECT_EQ(text.substr(0, 50), "# not multiplied, Q4_0: 1 x 96 x 32 (?#x)\nworkload");
  ASSERT_EQ(read.matmuls.size(), made.workload.matmuls.size());
  for (size_t i = 0; i < read.matmuls.size(); ++i) {
    const Matmul& a = read.matmuls[i];
    const Matmul& b = made.workload.matmuls[i];
    EXPECT_EQ(a.family, b.family);
    EXPECT_EQ(a.n, b.n);
    EXPECT_EQ(a.k, b.k);
    EXPECT_EQ(a.count, b.count);
    EXPECT_EQ(a.block, b.block);
    EXPECT_EQ(a.scales, b.scales);
    EXPECT_EQ(a.regime, b.regime);
  }
  ASSERT_EQ(read.rows.size(), 2U);
  EXPECT_EQ(read.rows[0].m, 1);
  EXPECT_EQ(read.rows[0].calls, 128);
  EXPECT_EQ(read.rows[1].m, 128);
  EXPECT_EQ(read.rows[1].calls, 1);
}

TEST(WorkloadWriter, WritesEveryMember) {
  Workload workload;
  workload.name = "w";
  workload.matmuls.push_back(
      {"q", "matmul_clamp_f32_qsi8d32p_qsi4c32p", 8, 128, 3, 128, "bf16", Regime::hot});
  workload.rows = {{4, 1}, {1, 7}};
  EXPECT_EQ(workload_text(workload, {"why"}),
            "# why\nworkload: \"w\"\nmatmuls:\n  - {name: \"q\", family: "
            "matmul_clamp_f32_qsi8d32p_qsi4c32p, n: 8, k: 128, count: 3, block: 128, scales: bf16, "
            "regime: hot}\nm: [4, {m: 1, calls: 7}]\n");
}

}  // namespace
}  // namespace tw
