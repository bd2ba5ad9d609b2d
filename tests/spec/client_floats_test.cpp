// Names of floats: kernels for cores, and packers for panels of one shape.
#include <gtest/gtest.h>

#include "folder.h"
#include "spec/client_reader.h"
#include "spec/isa_reader.h"
#include "spec/spec_reader.h"

namespace tw {
namespace {

/// Kernels of the shipped spec of f32.
std::vector<const Variant*> float_kernels() {
  static IsaLibrary isas(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates");
  static const std::vector<Variant> all = read_spec(
      std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "specs" / "matmul_clamp_f32_f32_f32p.yaml",
      isas);
  std::vector<const Variant*> pointers;
  for (const Variant& variant : all) pointers.push_back(&variant);
  return pointers;
}

std::string names_with(const std::string& core, const std::string& packer) {
  return "version: 1.32.0\nmatmuls:\n  - family: matmul_clamp_f32_f32_f32p\n    sr: 1\n"
         "    kernels:\n      - {name: matmul_a, step: {m: 6, n: 16}, isa: neon" +
         core +
         ",\n         panels: {lhs: 1, rhs: 16, kr: 1}, tile: {m: 6, n: 16}, rest: {m: 1, n: 16}}\n"
         "packers:\n  - {name: pack_a, rhs: f32, from: kxn, " +
         packer + "}\n";
}

std::string float_error(const std::string& core, const std::string& packer) {
  const Folder folder;
  const auto file = folder.write("names.yaml", names_with(core, packer));
  return folder.error([&] { read_client_names(file, float_kernels()); });
}

TEST(ClientFloats, FindsTheKernelOfACore) {
  const Folder folder;
  for (const std::string core : {"", "cortex-a55"}) {
    const std::string key = core.empty() ? "" : ", core: " + core;
    const ClientNames names = read_client_names(
        folder.write("names.yaml", names_with(key, "panel: 16, edge: repeats")), float_kernels());
    ASSERT_EQ(names.matmuls.size(), 1U);
    ASSERT_EQ(names.matmuls[0].kernels.size(), 1U);
    const Variant& kernel = *names.matmuls[0].kernels[0];
    EXPECT_EQ(kernel.knobs.core, core);
    ASSERT_EQ(names.matmuls[0].rest.size(), 1U);
    EXPECT_EQ(names.matmuls[0].rest[0]->tile.m, Length(1));
    EXPECT_EQ(names.matmuls[0].rest[0]->knobs.core, core);
    EXPECT_EQ(canonical(kernel.lhs), "lhs f32 m1 kr1 k%1 [data]");
    EXPECT_EQ(canonical(kernel.rhs), "rhs f32 n16 kr1 k%1 [bias:f32|data]");
    ASSERT_EQ(names.packers.size(), 1U);
    EXPECT_EQ(names.packers[0].panel, Length(16));
    EXPECT_TRUE(names.packers[0].rows_of_n);
    EXPECT_TRUE(names.packers[0].repeats);
  }
}

TEST(ClientFloats, PackedOnesHaveTheirOwnNames) {
  const Folder folder;
  const ClientNames names = read_client_names(
      folder.write("names.yaml",
                   "version: 1.32.0\nmatmuls:\n  - family: matmul_clamp_f32_f32_f32p\n"
                   "    theirs: matmul_b\n    folder: other\n    sr: 1\n    kernels:\n"
                   "      - {name: matmul_a, step: {m: 8svl, n: 8svl}, isa: sme,\n"
                   "         panels: {lhs: 8svl, rhs: 8svl, kr: 1}, tile: {m: 8svl, n: 8svl}}\n"
                   "packers:\n  - {name: pack_a, lhs: f32, from: f32, panel: 8svl}\n"),
      float_kernels());
  ASSERT_EQ(names.matmuls.size(), 1U);
  EXPECT_EQ(names.matmuls[0].family, "matmul_b");
  EXPECT_EQ(names.matmuls[0].folder, "other");
  const Variant& kernel = *names.matmuls[0].kernels[0];
  EXPECT_EQ(canonical(kernel.lhs), "lhs f32 m8svl kr1 k%1 [data]");
  EXPECT_EQ(canonical(kernel.rhs), "rhs f32 n8svl kr1 k%1 [bias:f32|data]");
  ASSERT_EQ(names.packers.size(), 1U);
  EXPECT_EQ(names.packers[0].side, Side::lhs);
  EXPECT_EQ(names.packers[0].panel, (Length{0, 0, 8}));
}

/// Rows by pointers have a spec of their own.
std::string pointers_error(const std::string& family, const std::string& step) {
  static IsaLibrary isas(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates");
  static const std::vector<Variant> all = read_spec(
      std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "specs" / "imatmul_clamp_f32_f32_f32p.yaml",
      isas);
  std::vector<const Variant*> kernels = float_kernels();
  for (const Variant& variant : all) kernels.push_back(&variant);
  const Folder folder;
  const auto file = folder.write(
      "names.yaml", "version: 1.32.0\nmatmuls:\n  - family: " + family +
                        "\n    sr: 1\n    kernels:\n      - {name: a, step: {m: " + step +
                        ", n: 16vl}, isa: sve,\n         panels: {lhs: 1, rhs: 16vl, kr: 1}, "
                        "tile: {m: 6, n: 16vl}}\npackers:\n");
  return folder.error([&] { read_client_names(file, kernels); });
}

TEST(ClientFloats, PointersToRowsComeInChunks) {
  EXPECT_EQ(pointers_error("imatmul_clamp_f32_f32_f32p", "6"),
            "names.yaml:6:16: rows that pointers tell come in chunks: 'k: chunks'");
  EXPECT_EQ(pointers_error("matmul_clamp_f32_f32_f32p\n    k: chunks", "6"),
            "names.yaml:7:16: rows that are not packed do not come in chunks");
  EXPECT_EQ(pointers_error("imatmul_clamp_f32_f32_f32p\n    k: chunks", "12"),
            "names.yaml:7:29: pointers stand together by tiles: m 6, as in the kernel's");
}

ClientNames depthwise_names(const std::filesystem::path& file) {
  static IsaLibrary isas(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates");
  static const std::vector<Variant> all = read_spec(
      std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "specs" / "dwconv_clamp_f16_f16_f16p.yaml",
      isas);
  std::vector<const Variant*> kernels = float_kernels();
  for (const Variant& variant : all) kernels.push_back(&variant);
  return read_client_names(file, kernels);
}

TEST(ClientFloats, DepthwiseConvolutions) {
  const auto text = [](const std::string& taps) {
    return names_with("", "panel: 16") +
           "  - {name: rhs_d, rhs: f16, panel: 8svl, from: kxn, k: taps}\n"
           "struct_packers:\n  - {name: rhs_e, from: nxk, panel: 8svl, by: f}\n"
           "depthwise:\n  - family: dwconv_clamp_f16_f16_f16p\n    theirs: dwconv_a\n"
           "    folder: b\n    kernels:\n      - {name: dwconv_c, isa: sme2, rows: 4, taps: " +
           taps + "}\n";
  };
  const Folder folder;
  const ClientNames names = depthwise_names(folder.write("names.yaml", text("3x3")));
  ASSERT_EQ(names.depthwise.size(), 1U);
  EXPECT_EQ(names.depthwise[0].family, "dwconv_a");
  EXPECT_EQ(names.depthwise[0].rows, 4);
  EXPECT_EQ(canonical(names.depthwise[0].kernel->rhs), "rhs f16 n8svl kr1 k%1 [bias:f16|data]");
  ASSERT_EQ(names.packers.size(), 2U);
  EXPECT_TRUE(names.packers[1].of_taps);
  EXPECT_FALSE(names.packers[1].in_chunks);
  ASSERT_EQ(names.struct_packers.size(), 1U);
  EXPECT_FALSE(names.struct_packers[0].rows_of_n);
  const auto wrong = folder.write("names.yaml", text("5x5"));
  EXPECT_EQ(folder.error([&] { depthwise_names(wrong); }),
            "names.yaml:18:9: no kernel of dwconv_clamp_f16_f16_f16p with layout kleidiai for "
            "sme2 makes lines by taps 5x5, which are 3 high");
}

TEST(ClientFloats, Mistakes) {
  const std::string kernel = float_error(", core: cortex-a5", "panel: 16");
  EXPECT_EQ(kernel.substr(0, kernel.find(';')),
            "names.yaml:6:9: no such kernel of matmul_clamp_f32_f32_f32p with layout kleidiai");
  EXPECT_NE(kernel.find("{isa: neon, core: cortex-a55, panels: {lhs: 1, rhs: 16, kr: 1}"),
            std::string::npos);
  EXPECT_EQ(float_error("", "panel: 24"),
            "names.yaml:9:48: no kernel with layout kleidiai reads f32 in panels of 24: of 16, "
            "16vl, 64svl, 8, 8svl they do");
  EXPECT_EQ(float_error("", "panel: 16, edge: last"),
            "names.yaml:9:58: edge is 'repeats', or left out");
  EXPECT_EQ(float_error("", "panel: 16, of: f32").substr(0, 15), "names.yaml:9:56");
  EXPECT_EQ(float_error("", "panel: 16, tail: first"),
            "names.yaml:9:58: only weights that are rounded have such a tail");
  EXPECT_NE(float_error("", "panel: 16, params: p").find("names.yaml:9:52: "), std::string::npos);
}

}  // namespace
}  // namespace tw
