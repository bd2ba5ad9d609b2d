// The synthesis of packers: what instructions are found to move, and how many of them a way takes.
#include "lower/relayout.h"

#include <gtest/gtest.h>

#include "model/variant.h"
#include "pack/programs.h"

namespace tw::test::relayout_test {
namespace {

/// "3<r 4<3 r<4": bits of numbers that change, r tells the two vectors apart.
std::string text(const LaneMove& move) {
  const size_t width = move.from.size() - (move.pair ? 1 : 0);
  auto name = [&](size_t bit) { return bit == width ? "r" : std::to_string(bit); };
  std::string out;
  for (size_t i = 0; i < move.from.size(); ++i) {
    const auto from = static_cast<size_t>(move.from[i]);
    if (from != i) out += (out.empty() ? "" : " ") + name(i) + "<" + name(from);
  }
  return out;
}

std::string move_of(const char* on, OpCode code, int bits, int64_t imm = 0) {
  for (const LaneMove& move : lane_moves(isa(on))) {
    const MoveOp& op = move.first;
    if (op.code == code && op.bits == bits && op.imm == imm) return text(move);
  }
  return "none";
}

TEST(Relayout, MovesAreDerived) {
  for (const char* on : {"neon", "avx2", "avx512f"}) {
    EXPECT_EQ(move_of(on, OpCode::zip_lo, 8), "3<r 4<3 5<4 6<5 r<6");
    EXPECT_EQ(move_of(on, OpCode::zip_lo, 16), "4<r 5<4 6<5 r<6");
    EXPECT_EQ(move_of(on, OpCode::zip_lo, 32), "5<r 6<5 r<6");
    EXPECT_EQ(move_of(on, OpCode::zip_lo, 64), "6<r r<6");
    EXPECT_EQ(move_of(on, OpCode::zip_hi, 64), "none") << "it is the second of a pair";
    EXPECT_EQ(move_of(on, OpCode::and_, 0), "none");
    EXPECT_EQ(move_of(on, OpCode::copy, 0), "none");
  }
  EXPECT_EQ(move_of("neon", OpCode::uzp_even, 8), "3<4 4<5 5<6 6<r r<3");
  EXPECT_EQ(move_of("neon", OpCode::uzp_even, 16), "4<5 5<6 6<r r<4");
  EXPECT_EQ(move_of("neon", OpCode::uzp_even, 64), "6<r r<6");
  EXPECT_EQ(move_of("avx2", OpCode::move_segments, 0, 0), "7<r r<7");
  EXPECT_EQ(move_of("avx2", OpCode::permute_64, 0, 0xd8), "6<7 7<6");
  EXPECT_EQ(move_of("avx2", OpCode::permute_64, 0, 0xe4), "none") << "it moves nothing";
  EXPECT_EQ(move_of("avx2", OpCode::blend, 32, 0xaa), "none");
  EXPECT_EQ(move_of("avx512f", OpCode::move_segments, 0, 0x44), "8<r r<8");
  EXPECT_EQ(move_of("avx512f", OpCode::move_segments, 0, 0x88), "7<8 8<r r<7");
  EXPECT_TRUE(lane_moves(isa("scalar")).empty());
}

/// A source, and how much of it lies together.
struct Run {
  const char* source;
  int64_t bytes;
};
constexpr Run rows(int64_t bytes) {
  return {"nxk", bytes};
}
constexpr Run columns(int64_t bytes) {
  return {"kxn", bytes};
}
constexpr Run q4_0 = {"q4_0", 16}, q8_0 = {"q8_0", 16};
struct Problem {
  const char* isa;
  const char* weights;
  Technique technique;
  int panel, kr;
  Run run;
  int64_t moves;  ///< instructions for 64 packed bytes
  int block = 0;
  LayoutStyle style = LayoutStyle::own;
};

constexpr LayoutStyle theirs = LayoutStyle::kleidiai;

const std::vector<Problem> problems = {
    {"neon_dotprod", "qsi4c32", Technique::dot, 8, 4, q4_0, 12, 32},
    {"neon_i8mm", "qsi4c32", Technique::mmla, 4, 8, q4_0, 8, 32},
    {"avx2", "qsi4c32", Technique::dot, 16, 4, q4_0, 4, 32},
    {"avx512_vnni", "qsi4c32", Technique::dot, 32, 4, q4_0, 2, 32},
    {"neon_dotprod", "qsi4cx", Technique::dot, 8, 4, rows(16), 16},
    {"neon_i8mm", "qsi4cx", Technique::mmla, 8, 8, rows(16), 12},
    {"neon_dotprod", "qsi4cx", Technique::dot, 8, 4, rows(16), 16, 0, theirs},
    {"neon_i8mm", "qsi4cx", Technique::mmla, 8, 8, rows(16), 12, 0, theirs},
    {"avx2", "qsi4cx", Technique::dot, 16, 4, rows(32), 16},
    {"avx2", "qsi4c32", Technique::dot, 16, 4, rows(16), 12, 64},
    {"avx512_vnni", "qsi4cx", Technique::dot, 32, 4, rows(64), 9},
    {"avx512_vnni", "qsi4c32", Technique::dot, 32, 4, rows(16), 6, 64},
    {"neon_dotprod", "qsi4cx", Technique::dot, 8, 4, columns(16), 20},
    {"neon_i8mm", "qsi4cx", Technique::mmla, 8, 8, columns(16), 20},
    {"neon_i8mm", "qsi4cx", Technique::mmla, 8, 8, columns(16), 20, 0, theirs},
    {"avx2", "qsi4cx", Technique::dot, 16, 4, columns(32), 14},
    {"avx512_vnni", "qsi4cx", Technique::dot, 32, 4, columns(64), 8},
    {"avx2", "qsi8cx", Technique::dot, 16, 4, rows(32), 6},
    {"neon_i8mm", "qsi8cx", Technique::mmla, 8, 8, rows(16), 4},
    {"neon_dotprod", "qsi8cx", Technique::dot, 8, 4, columns(16), 8},
    {"neon_i8mm", "qsi8cx", Technique::mmla, 8, 8, columns(16), 12},
    {"avx2", "qsi8cx", Technique::dot, 16, 4, columns(32), 6},
    {"avx512_vnni", "qsi8cx", Technique::dot, 32, 4, columns(64), 4},
    {"neon_dotprod", "qsi8c32", Technique::dot, 8, 4, q8_0, 8, 32},
    {"avx512_vnni", "qsi8c32", Technique::dot, 32, 4, q8_0, 2, 32},
    {"avx2", "f32", Technique::fma, 16, 1, rows(32), 6},
    {"avx512f", "f32", Technique::fma, 32, 1, rows(64), 4},
    {"neon", "f32", Technique::fma, 24, 1, rows(16), 8},
    {"avx2", "f32", Technique::fma, 16, 1, columns(32), 0},
    // Two moves more than where the segments of several rows are loaded into one vector, which
    // takes two and four times as many loads and was slower (measured on Zen 4: 94 and 62 % of a
    // copy's speed, these 98 and 100 %).
    {"avx2", "f16", Technique::fma, 16, 1, rows(32), 8},
    {"avx512f", "f16", Technique::fma, 32, 1, rows(64), 5},
    {"neon", "f16", Technique::fma, 8, 1, rows(16), 12}};

TEST(Relayout, TakesNoMoreThanByHand) {
  for (const Problem& problem : problems) {
    Panels panels{0, problem.panel, problem.kr, problem.style};
    panels.block = problem.block;
    const Format& lhs = *find_format(problem.technique == Technique::fma ? "f32" : "qai8dx");
    const Isa& on = isa(problem.isa);
    const Layout layout =
        choose_layouts(lhs, *find_format(problem.weights), problem.technique, on, panels).rhs;
    const Source& source = *find_source(problem.run.source, layout);
    const auto way = find_relayout(layout, source, on, problem.run.bytes);
    ASSERT_TRUE(way) << problem.isa << " " << canonical(layout);
    const auto bytes = static_cast<int64_t>(way->vectors()) * on.vector_bytes.fixed;
    EXPECT_EQ(move_count(*way, on) * 64 / bytes, problem.moves)
        << problem.isa << " " << problem.run.source << " " << canonical(layout);
  }
}

TEST(Relayout, NoneWhereVectorsAreTooFew) {
  Isa few = isa("avx2");
  for (RegisterFile& file : few.files) {
    if (file.kind != Kind::vector) continue;
    for (auto& [view, names] : file.views) names.resize(4);
  }
  const Layout layout = choose_layouts(*find_format("f32"), *find_format("f32"), Technique::fma,
                                       isa("avx2"), {0, 16, 1})
                            .rhs;
  const Source& source = *find_source("nxk", layout);
  EXPECT_EQ(find_relayout(layout, source, isa("avx2"), 32)->vectors(), 8U);
  EXPECT_EQ(find_relayout(layout, source, few, 32)->vectors(), 4U) << "by segments";
  EXPECT_FALSE(find_relayout(layout, source, isa("scalar"), 32));
}

/// Of four codes in a byte, whose neighbors of a source are to stand in bytes of their own: bits
/// change places within lanes of 32 bits before bytes move.
TEST(Relayout, SwapsBitsOutOfTheLowestLanes) {
  Panels panels{0, 16, 4};
  panels.block = 64;
  const Layout layout = choose_layouts(*find_format("qsi8d32"), *find_format("qai2c32"),
                                       Technique::dot, isa("avx2"), panels)
                            .rhs;
  const Source& source = *find_source("nxk", layout);
  const auto way = find_relayout(layout, source, isa("avx2"), 16);
  ASSERT_TRUE(way);
  EXPECT_EQ(way->swaps.size(), 2U);
  Isa without_shifts = isa("avx2");
  std::erase_if(without_shifts.rows, [](const Row& row) {
    return row.means.size() == 1 && row.means[0].code == OpCode::shl && row.means[0].bits == 32;
  });
  EXPECT_FALSE(find_relayout(layout, source, without_shifts, 16)) << "they would leave there";
  EXPECT_FALSE(find_relayout(layout, source, isa("scalar"), 16));
}

/// Columns 24 apart share a byte of tops: no bit of a column's number says which one it is.
TEST(Relayout, HasNoWayOfStepsThatAreNoPowersOfTwo) {
  const auto layout = [](int columns) {
    Panels panels{0, columns, 4};
    panels.block = 16;
    return choose_layouts(*find_format("qsi8d32"), *find_format("qsi3k16"), Technique::dot,
                          isa("avx2"), panels)
        .rhs;
  };
  const Source& source = *find_source("q3_k", layout(16));
  EXPECT_TRUE(find_relayout(layout(16), source, isa("avx2"), 16, FieldKind::tops));
  EXPECT_FALSE(find_relayout(layout(48), source, isa("avx2"), 16, FieldKind::tops));
}

}  // namespace
}  // namespace tw::test::relayout_test
