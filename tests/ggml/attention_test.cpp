// Attention over the host's tensors against a plain loop in double.
#include "integrations/ggml/attention.h"

#include <gtest/gtest.h>

#include "ggml/attention_op.h"
#include "support/environment.h"

namespace tw::ggml {
namespace {

void expect_right(const AttentionShape& shape) {
  Scratch scratch;
  for (const int threads : {1, 2, 5}) {
    AttentionOp attention(shape);
    ASSERT_TRUE(can_attend(attention.op));
    ASSERT_EQ(attend(attention.op, threads, scratch), success);
    EXPECT_EQ(attention.wrong(), "")
        << threads << " threads, " << shape.queries << " queries, " << shape.positions
        << " positions, " << shape.heads << " heads of " << shape.kv_heads << ", of "
        << shape.key_size << " and " << shape.value_size << ", batches " << shape.batches << " "
        << shape.kv_batches << ", masks " << shape.mask_batches << " " << shape.mask_heads
        << ", sinks " << shape.has_sinks;
  }
}

// Positions of several blocks, which are divided among threads where there is one query.
/// Any two of them meet; all three in long runs.
TEST(Attend, QueriesPositionsAndHeads) {
  size_t number = 0;
  for (const size_t queries : {1, 2, 7, 40}) {
    for (const size_t positions : {1, 70, 600}) {
      for (const size_t group : {1, 2, 4}) {
        if (!test::is_long() && (number / 9 + number / 3 + number) % 3 != 0) {
          ++number;
          continue;
        }
        AttentionShape shape = {queries, positions};
        shape.kv_heads = 1 + number % 3;
        shape.heads = group * shape.kv_heads;
        shape.key_size = number % 2 == 0 ? 32 : 64;
        shape.value_size = number % 5 == 0 ? 48 : shape.key_size;
        shape.mask_batches = number % 4 == 3 ? 0 : 1;
        expect_right(shape);
        ++number;
      }
    }
  }
}

TEST(Attend, CachesOfOtherTypes) {
  const int32_t types[][2] = {{type_q8_0, type_q8_0}, {type_q8_0, type_f16},
                              {type_f16, type_q8_0},  {type_f32, type_f32},
                              {type_bf16, type_bf16}, {type_q4_0, type_q4_0}};
  for (const auto& [key_type, value_type] : types) {
    for (const size_t queries : {1, 9}) {
      AttentionShape shape = {queries, 530, 6, 3, 64, 96};
      shape.key_type = key_type;
      shape.value_type = value_type;
      shape.batches = 2;
      shape.kv_batches = queries == 1 ? 1 : 2;
      expect_right(shape);
    }
  }
}

// With five threads, each batch has two for the positions of its one head of K and V.
TEST(Attend, BatchesThatShareKeysAndMasks) {
  for (const size_t kv_batches : {1, 2, 4}) {
    for (const size_t mask_batches : {0, 1, 2, 4}) {
      for (const size_t queries : {1, 3}) {
        AttentionShape shape = {queries, 530, 4, 1};
        shape.batches = 4;
        shape.kv_batches = kv_batches;
        shape.mask_batches = mask_batches;
        expect_right(shape);
      }
    }
  }
}

TEST(Attend, MasksOfHeadsSlopesSinksAndSoftcaps) {
  for (const size_t mask_heads : {1, 6}) {
    for (const float max_bias : {0.0F, 8.0F}) {
      for (const float softcap : {0.0F, 3.0F}) {
        for (const bool has_sinks : {false, true}) {
          AttentionShape shape = {3, 90, 6, 3};
          shape.mask_heads = mask_heads;
          shape.max_bias = max_bias;
          shape.softcap = softcap;
          shape.has_sinks = has_sinks;
          expect_right(shape);
        }
      }
    }
  }
}

// Portable C, where no vectors divide them.
TEST(Attend, HeadsOfAnySize) {
  AttentionShape shape = {2, 70, 2, 1, 33, 35};
  expect_right(shape);
}

struct Change {
  const char* what;
  void (*make)(AttentionOp&);
};

TEST(CanAttend, NothingElse) {
  const Change changes[] = {
      {"K of another type", [](AttentionOp& a) { a.k.tensor.type = type_q4_1; }},
      {"V of another type", [](AttentionOp& a) { a.v.tensor.type = type_q5_0; }},
      {"queries of another type", [](AttentionOp& a) { a.q.tensor.type = type_f16; }},
      {"outputs of another type", [](AttentionOp& a) { a.op.type = type_f16; }},
      {"a mask of another type", [](AttentionOp& a) { a.mask.tensor.type = type_f32; }},
      {"K of blocks, its values apart", [](AttentionOp& a) { a.k.tensor.type = type_q8_0; }},
      {"K's values apart", [](AttentionOp& a) { a.k.tensor.nb[0] = 4; }},
      {"V's values apart", [](AttentionOp& a) { a.v.tensor.nb[0] = 4; }},
      {"queries' values apart", [](AttentionOp& a) { a.q.tensor.nb[0] = 8; }},
      {"masks' values apart", [](AttentionOp& a) { a.mask.tensor.nb[0] = 4; }},
      {"heads that K's do not divide", [](AttentionOp& a) { a.k.tensor.ne[2] = 4; }},
      {"heads of V only", [](AttentionOp& a) { a.v.tensor.ne[2] = 1; }},
      {"keys of another size", [](AttentionOp& a) { a.k.tensor.ne[0] = 16; }},
      {"batches that K's do not divide", [](AttentionOp& a) { a.k.tensor.ne[3] = 3; }},
      {"positions of V only", [](AttentionOp& a) { a.v.tensor.ne[1] = 9; }},
      {"masks that heads share in turns", [](AttentionOp& a) { a.mask.tensor.ne[2] = 2; }},
      {"masks of few rows", [](AttentionOp& a) { a.mask.tensor.ne[1] = 2; }},
      {"masks of few positions", [](AttentionOp& a) { a.mask.tensor.ne[0] = 9; }},
      {"masks of too many batches", [](AttentionOp& a) { a.mask.tensor.ne[3] = 3; }},
      {"sinks of few heads", [](AttentionOp& a) { a.sinks.tensor.ne[0] = 1; }},
      {"one more source", [](AttentionOp& a) { a.op.src[5] = &a.q.tensor; }},
      {"one more parameter", [](AttentionOp& a) { a.op.op_params[5] = 1; }},
  };
  AttentionShape shape = {3, 10, 6, 3};
  shape.batches = shape.kv_batches = 2;
  shape.has_sinks = true;
  for (const Change& change : changes) {
    AttentionOp attention(shape);
    EXPECT_TRUE(can_attend(attention.op));
    change.make(attention);
    EXPECT_FALSE(can_attend(attention.op)) << change.what;
  }
}

TEST(CanAttend, HintsAreNothingThatWeNeed) {
  AttentionOp attention({3, 10});
  attention.op.op_params[3] = 10;  // f32: all sums are
  attention.op.op_params[4] = 8;   // positions that are not masked, at most
  EXPECT_TRUE(can_attend(attention.op));
}

}  // namespace
}  // namespace tw::ggml
