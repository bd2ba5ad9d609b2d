#include "spec/client_reader.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "folder.h"
#include "spec/isa_reader.h"
#include "spec/spec_reader.h"

namespace tw::client_reader_test {
namespace {

const std::filesystem::path source = TILEWRIGHT_SOURCE_DIR;

/// Kernels of a shipped spec.
std::vector<const Variant*> kernels_of(const std::string& family) {
  static IsaLibrary isas(source / "templates");
  static std::map<std::string, std::vector<Variant>> specs;
  if (specs.count(family) == 0) {
    specs[family] = read_spec(source / "specs" / (family + ".yaml"), isas);
  }
  std::vector<const Variant*> pointers;
  for (const Variant& variant : specs[family]) pointers.push_back(&variant);
  return pointers;
}

const std::string int4 = "matmul_clamp_f32_qai8dxp_qsi4cxp";
const std::string int4_in_blocks = "matmul_clamp_f32_qai8dxp_qsi4c32p";

std::vector<const Variant*> kernels() {
  return kernels_of(int4);
}

const std::string begin =
    "version: 1.32.0\nmatmuls:\n  - family: matmul_clamp_f32_qai8dxp_qsi4cxp\n    sr: 2\n"
    "    kernels:\n";
const std::string kernel =
    "      - {name: matmul_a, step: {m: 8, n: 8}, isa: neon_i8mm,\n"
    "         panels: {lhs: 4, rhs: 8, kr: 8}, tile: {m: 8, n: 8}}\n";
const std::string packers = "packers:\n  - {name: lhs_a, lhs: qai8dx, from: f32}\n";

std::string error(const std::string& text) {
  const Folder folder;
  const auto file = folder.write("names.yaml", text);
  return folder.error([&] { read_client_names(file, kernels()); });
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  return text.replace(text.find(from), from.size(), to);
}

TEST(ClientReader, FindsTheKernel) {
  const Folder folder;
  const ClientNames names =
      read_client_names(folder.write("names.yaml", begin + kernel + packers), kernels());
  ASSERT_EQ(names.matmuls.size(), 1U);
  const ClientMatmul& matmul = names.matmuls[0];
  EXPECT_EQ(matmul.name, "matmul_a");
  EXPECT_EQ(matmul.m_step, 8);
  EXPECT_EQ(matmul.sr, 2);
  ASSERT_EQ(matmul.kernels.size(), 1U);
  EXPECT_EQ(matmul.kernels[0]->name(),
            "matmul_clamp_f32_qai8dxp4x8_qsi4cxp8x8_8x8_neon_i8mm_kleidiai");
  ASSERT_EQ(names.packers.size(), 1U);
  EXPECT_EQ(names.packers[0].format->name, "qai8dx");
}

TEST(ClientReader, KernelsThatDoNotExist) {
  for (const auto& [from, to] : std::vector<std::pair<std::string, std::string>>{
           {"neon_i8mm", "neon_i8m"}, {"tile: {m: 8", "tile: {m: 16"}, {"kr: 8", "kr: 4"}}) {
    const std::string message = error(begin + replaced(kernel, from, to) + packers);
    EXPECT_EQ(message.substr(0, message.find(';')),
              "names.yaml:6:9: no such kernel of matmul_clamp_f32_qai8dxp_qsi4cxp with layout "
              "kleidiai")
        << to;
  }
}

TEST(ClientReader, FindsTheKernelsForTheLastRows) {
  const Folder folder;
  const std::string with_rest = replaced(kernel, "n: 8}}\n", "n: 8}, rest: {m: 4, n: 8}}\n");
  const ClientNames names =
      read_client_names(folder.write("names.yaml", begin + with_rest + packers), kernels());
  ASSERT_EQ(names.matmuls[0].rest.size(), 1U);
  EXPECT_EQ(names.matmuls[0].rest[0]->name(),
            "matmul_clamp_f32_qai8dxp4x8_qsi4cxp8x8_4x8_neon_i8mm_kleidiai");
  const std::string message = error(begin + replaced(with_rest, "{m: 4", "{m: 5") + packers);
  EXPECT_EQ(message.substr(0, message.find(';')),
            "names.yaml:6:9: no such kernel of matmul_clamp_f32_qai8dxp_qsi4cxp with layout "
            "kleidiai");
}

TEST(ClientReader, OneLastRowMayHaveItsOwnKernel) {
  const std::string in_blocks = "matmul_clamp_f32_qsi8d32p_qsi4c32p";
  const std::vector<const Variant*> all = kernels_of(in_blocks);
  const std::string text = replaced(begin, int4, in_blocks) +
                           "      - {name: matmul_a, step: {m: 16, n: 8}, isa: sve_i8mm,\n"
                           "         panels: {lhs: 4, rhs: 4vl, kr: 8}, tile: {m: 16, n: 4vl},\n"
                           "         rest: {m: 4, n: 8vl}, single: {m: 1, n: 8vl}}\n" +
                           replaced(packers, "qai8dx", "qsi8d32");
  const Folder folder;
  const auto read = [&](const std::string& its) {
    return read_client_names(folder.write("names.yaml", its), all);
  };
  const ClientNames names = read(text);
  ASSERT_EQ(names.matmuls[0].single.size(), 1U);
  EXPECT_EQ(names.matmuls[0].single[0]->name(),
            "matmul_clamp_f32_qsi8d32p4x8_qsi4c32p4vlx8_1x8vl_sve_i8mm_dot_kleidiai");
  const auto refused = [&](const char* from, const char* to) {
    return folder.error([&] { read(replaced(text, from, to)); });
  };
  EXPECT_EQ(refused("single: {m: 1, n: 8vl}", "single: {m: 4, n: 8vl}"),
            "names.yaml:8:44: of one row m is 1");
  EXPECT_EQ(refused("rest: {m: 4, n: 8vl}, ", ""),
            "names.yaml:8:18: one last row is told apart from a 'rest' of rows that are packed");
}

TEST(ClientReader, LongBlocksMayHaveATileOfTheirOwn) {
  const std::string text = replaced(begin, int4, int4_in_blocks) +
                           "      - {name: matmul_a, step: {m: 16, n: 4}, isa: neon_i8mm,\n"
                           "         panels: {lhs: 4, rhs: 4, kr: 8}, tile: {m: 16, n: 4},\n"
                           "         long: {m: 8, n: 4}}\n" +
                           packers;
  const Folder folder;
  const std::vector<const Variant*> all = kernels_of(int4_in_blocks);
  const ClientNames names = read_client_names(folder.write("names.yaml", text), all);
  for (const Variant* kernel : names.matmuls[0].kernels) {
    EXPECT_EQ(kernel->tile.m, Length(kernel->rhs.block == 32 ? 16 : 8)) << kernel->name();
  }
  EXPECT_EQ(names.matmuls[0].kernels.size(), 4U);
}

TEST(ClientReader, LastRowsHaveTheSameLengthsOfBlocks) {
  std::vector<const Variant*> all = kernels_of(int4_in_blocks);
  const auto is_left_out = [](const Variant* it) {
    return it->tile.m == Length(4) && it->rhs.block == 64;
  };
  all.erase(std::remove_if(all.begin(), all.end(), is_left_out), all.end());
  const std::string text =
      replaced(begin, int4, int4_in_blocks) +
      "      - {name: matmul_a, step: {m: 8, n: 4}, isa: neon_i8mm,\n"
      "         panels: {lhs: 4, rhs: 4, kr: 8}, tile: {m: 8, n: 4}, rest: {m: 4, n: 8}}\n" +
      packers;
  const Folder folder;
  const auto file = folder.write("names.yaml", text);
  EXPECT_EQ(folder.error([&] { read_client_names(file, all); }),
            "names.yaml:7:69: other lengths of blocks than the kernels for whole tiles have");
}

TEST(ClientReader, OtherMistakes) {
  const std::string twice = begin + kernel + kernel + packers;
  EXPECT_EQ(error(twice), "names.yaml:8:16: 'matmul_a' stands twice in this file");
  EXPECT_EQ(error(begin + replaced(kernel, "matmul_a", "Matmul-a") + packers),
            "names.yaml:6:16: 'Matmul-a' is no name of a micro-kernel: a-z, 0-9 and _ are legal");
  EXPECT_NE(error(replaced(begin, "_qsi4cxp", "_qsi4cx") + kernel + packers)
                .find("names.yaml:3:13: unknown family of kernels with layout kleidiai"),
            std::string::npos);
  EXPECT_NE(error(begin + kernel + replaced(packers, "qai8dx", "qsi8d32"))
                .find("names.yaml:9:24: unknown format that is packed as KleidiAI does"),
            std::string::npos);
  EXPECT_NE(error(begin + kernel + "packers:\n  - {name: b, rhs: qsi4cx, from: nk, params: p}\n")
                .find("names.yaml:9:34: unknown source of weights 'nk'"),
            std::string::npos);
}

}  // namespace
}  // namespace tw::client_reader_test
