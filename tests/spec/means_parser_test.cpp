#include "spec/means_parser.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tw::means_parser_test {
namespace {

std::string error(const std::string& text) {
  try {
    parse_means(text);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(MeansParser, ReadsOneOperation) {
  const Means means = parse_means("d = load_lane.32(v, p, #i)[o+16]");
  ASSERT_EQ(means.nodes.size(), 1U);
  const MeansNode& node = means.nodes[0];
  EXPECT_EQ(node.code, OpCode::load_lane);
  EXPECT_EQ(node.bits, 32);
  EXPECT_EQ(node.result, "d");
  EXPECT_EQ(node.imm_name, "i");
  EXPECT_EQ(node.offset, Length(16));
  EXPECT_EQ(node.offset_name, "o");
  ASSERT_EQ(means.operands.size(), 3U);
  EXPECT_EQ(means.operands[0].name, "d");
  EXPECT_TRUE(means.operands[0].is_result);
  EXPECT_EQ(means.operands[1].kind, Kind::vector);
  EXPECT_EQ(means.operands[2].kind, Kind::scalar);
  EXPECT_EQ(means.immediates, (std::vector<std::string>{"i", "o"}));
}

TEST(MeansParser, InnerResultsComeBeforeTheirUse) {
  const Means means = parse_means("d = dot4_u8s8(c, a, load_dup.32(p)[o])");
  ASSERT_EQ(means.nodes.size(), 2U);
  EXPECT_EQ(means.nodes[0].code, OpCode::load_dup);
  EXPECT_EQ(means.nodes[0].result, "");
  EXPECT_EQ(means.nodes[1].args[2].node, 0);
  EXPECT_EQ(means.nodes[1].args[1].operand, "a");
}

TEST(MeansParser, ReadsStatements) {
  const Means means = parse_means("d0 = load(p); d1 = load(p)[16vl] ; q = iadd_imm(p)[32];");
  ASSERT_EQ(means.nodes.size(), 3U);
  EXPECT_EQ(means.nodes[1].offset, Length(0, 16));
  ASSERT_EQ(means.operands.size(), 4U);
  EXPECT_EQ(means.operands[2].name, "q");
  EXPECT_EQ(means.operands[3].name, "p");
  EXPECT_FALSE(means.operands[3].is_result);
}

TEST(MeansParser, AResultMayFeedALaterStatement) {
  const Means means = parse_means("t = and(a, b); d = add.32(t, a)");
  EXPECT_EQ(means.nodes[1].args[0].node, 0);
  EXPECT_EQ(means.nodes[1].args[0].operand, "");
}

TEST(MeansParser, ReadsNumbers) {
  EXPECT_EQ(parse_means("d = splat.8(#0x0f)").nodes[0].imm, 15);
  EXPECT_EQ(parse_means("d = splat.8(#-3)").nodes[0].imm, -3);
  EXPECT_EQ(parse_means("d = load(p)[o-64]").nodes[0].offset, Length(-64));
  EXPECT_EQ(parse_means("d = load(p)[-64]").nodes[0].offset, Length(-64));
  EXPECT_EQ(parse_means("store(p, v)").nodes[0].result, "");
}

TEST(MeansParser, NamesTheColumnOfAMistake) {
  EXPECT_EQ(error("d = lod(p)").substr(0, 58),
            "column 5: unknown operation 'lod'; did you mean 'load'? kn");
  EXPECT_EQ(error("d = add(a, b)"), "column 8: add needs a lane width, as in add.32");
  EXPECT_EQ(error("d = fadd.32(a, b)"), "column 10: fadd has no lane width");
  EXPECT_EQ(error("d = add.x(a, b)"), "column 9: expected a lane width in bits");
  EXPECT_EQ(error("d = add.32(a)"), "column 5: add takes 2 arguments, not 1");
  EXPECT_EQ(error("d = add.32(a, b, c)"), "column 18: add takes 2 arguments, here is one more");
  EXPECT_EQ(error("d = shl.32(a)"), "column 5: shl needs an immediate, '#number' or '#name'");
  EXPECT_EQ(error("d = fadd(a, b, #1)"), "column 17: fadd has no immediate");
  EXPECT_EQ(error("d = shl.32(a, #1, #2)"), "column 20: shl has only one immediate");
  EXPECT_EQ(error("d = shl.32(a, #1vl)"), "column 19: an immediate must be a plain number");
  EXPECT_EQ(error("d = fadd(a, b)[4]"), "column 16: fadd has no offset");
  EXPECT_EQ(error("d = load(p)[4x]"), "column 13: expected a number or a length such as 16vl");
  EXPECT_EQ(error("d = load(p"), "column 11: expected ')'");
  EXPECT_EQ(error("d = load(p) e"), "column 13: expected ';' or the end");
  EXPECT_EQ(error("load(p)"), "column 1: the result is lost; write 'name = ...'");
  EXPECT_EQ(error("d = store(p, v)"), "column 5: store has no result");
  EXPECT_EQ(error(""), "column 1: expected a name");
}

TEST(MeansParser, ANameHasOneMeaning) {
  EXPECT_EQ(error("d = add.32(d, a)"),
            "column 1: 'd' has a meaning already; a result needs a name of its own (and `tied` "
            "where it shares a register)");
  EXPECT_EQ(error("d = load_dup.32(p); e = fadd(d, p)"),
            "column 33: fadd wants a vector here, 'p' is a scalar");
  EXPECT_EQ(error("d = fadd(a, iadd(p, q))"),
            "column 13: fadd wants a vector here, 'iadd' is a scalar");
  EXPECT_EQ(error("d = load(p)[p]"), "column 13: 'p' is an operand, not an immediate");
  EXPECT_EQ(error("d = load(p)[o]; e = load(o)"), "column 26: 'o' is an immediate");
  EXPECT_EQ(error("d = fadd(a, store(p, v))"), "column 13: store has no result");
}

}  // namespace
}  // namespace tw::means_parser_test
