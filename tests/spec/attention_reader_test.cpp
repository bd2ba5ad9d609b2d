// Specs of attention, with the tables that ship.
#include <gtest/gtest.h>

#include <filesystem>

#include "folder.h"
#include "model/attention.h"
#include "model/sources.h"
#include "spec/spec_reader.h"

namespace tw::attention_reader_test {
namespace {

/// Its kernels follow from line 6.
const std::string head =
    "family: attention_f32_f32_f16\n"
    "lhs: {format: f32}\n"
    "rhs: {format: f16}\n"
    "dst: f32\n"
    "kernels:\n";

class AttentionReader : public testing::Test {
 protected:
  std::vector<Variant> read(const std::string& text) {
    return read_spec(folder.write("s.yaml", text), isas);
  }
  /// Of one kernel, whose first key is at column 6.
  std::string error(const std::string& kernel, const std::string& before = head) {
    return folder.error([&] { read(before + "  - {" + kernel + "}\n"); });
  }

  Folder folder;
  IsaLibrary isas{std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates"};
};

TEST_F(AttentionReader, ListsMultiply) {
  const std::vector<Variant> all =
      read(head + "  - {isa: [avx2, neon], stage: scores, tile: {m: [1, 2], n: 4}}\n");
  ASSERT_EQ(all.size(), 4U);
  EXPECT_EQ(all.front().name(), "attention_scores_f32_f32_f16_1x4_avx2");
  EXPECT_EQ(all[3].name(), "attention_scores_f32_f32_f16_2x4_neon");
  EXPECT_EQ(all[3].stage, Stage::scores);
  EXPECT_TRUE(all[3].print_assembly);
  EXPECT_TRUE(all[3].family.rhs_from.empty());
}

/// The rows that packers read, and those that attention reads where they are.
TEST_F(AttentionReader, BlocksLieAsGgmlHasThem) {
  for (const auto& [format, name] : {std::pair{"qsi8c32", "q8_0"}, {"qsi4c32", "q4_0"}}) {
    Family family;
    family.lhs = find_format("f32");
    family.rhs = find_format(format);
    const Layout rows = attention_layouts(family, isas.get("avx2")).rhs;
    const Source* source = find_source(name, rows);
    ASSERT_NE(source, nullptr) << name;
    EXPECT_EQ(block_bytes(rows), Length{block_bytes(*source)}) << name;
    const Sizes sizes = {64, {}, 0};
    for (const FieldKind kind : {FieldKind::data, FieldKind::scales}) {
      for (int64_t k = 0; k < 64; ++k) {
        EXPECT_EQ(place(axes(rows), kind, {0, k}, sizes), place(source->axes, kind, {0, k}, sizes))
            << name << " " << k;
      }
    }
  }
}

TEST_F(AttentionReader, MistakesSayWhereAndWhatIsLegal) {
  EXPECT_EQ(
      error("isa: avx2, stage: score, tile: {m: 1, n: 4}"),
      "s.yaml:6:24: unknown stage 'score'; did you mean 'scores'? known stages: scores, weights, "
      "values");
  EXPECT_EQ(error("isa: sve2, stage: scores, tile: {m: 1, n: 4}"),
            "s.yaml:6:11: attention wants vectors of a fixed length");
  EXPECT_EQ(error("isa: avx2, stage: scores, tile: {m: 1, n: 4}",
                  "family: attention_f32_f32_qsi8cx\nlhs: {format: f32}\nrhs: {format: qsi8cx}\n"
                  "dst: f32\nkernels:\n"),
            "s.yaml:6:11: no attention of f32 to qsi8cx makes f32: queries and outputs are f32, K "
            "and V qai8dx or qsi4c32 or qsi8c32 or f32 or f16 or bf16");
  EXPECT_EQ(error("isa: avx2, stage: scores, tile: {m: 1, n: 4}, taps: 3x3"),
            "s.yaml:6:52: unknown key 'taps'; known keys: isa, stage, tile, print, spills");
}

}  // namespace
}  // namespace tw::attention_reader_test
