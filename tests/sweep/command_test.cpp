// `tilewright sweep`, as a user runs it.
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <regex>
#include <sstream>

#include "spec/folder.h"
#include "support/run_command.h"

namespace tw::command_test {
namespace {

namespace fs = std::filesystem;

constexpr const char* kFamily = "matmul_clamp_f32_qsi8d32p_qsi8c32p";

Ran run(const Folder& folder, const std::string& arguments) {
  return run_command("cd '" + folder.path().string() + "' && '" TILEWRIGHT_COMMAND "' sweep " +
                     arguments);
}

std::string read(const fs::path& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

size_t count_of(const std::string& text, const std::string& what) {
  std::smatch found;
  if (!std::regex_search(text, found, std::regex("([0-9]+) " + what))) return 0;
  return std::stoul(found[1]);
}

/// Lines of the table for m rows: the cycles with what is left over, those without, the kernel.
struct Line {
  double cycles, all_rows;
  int64_t tile_m;
  std::string kernel;
};

std::vector<Line> lines_for(const std::string& table, const std::string& rows) {
  std::istringstream in(table.substr(table.find("\n" + rows + ": cycles")));
  std::vector<Line> lines;
  std::string text;
  std::getline(in, text);
  std::getline(in, text);
  std::getline(in, text);
  while (std::getline(in, text) && !text.empty()) {
    std::smatch found;
    static const std::regex line(
        " +([0-9.]+) +([0-9.]+) +[0-9.]+ +[0-9]+  ([^ ]*_([0-9]+)x[0-9]+_avx2[^ ]*)(  "
        "\\(ships\\))?");
    EXPECT_TRUE(std::regex_match(text, found, line)) << text;
    if (found.empty()) continue;
    lines.push_back({std::stod(found[1]), std::stod(found[2]), std::stol(found[4]), found[3]});
  }
  return lines;
}

void expect_ordered(const std::string& table, const std::string& rows, int64_t m) {
  const std::vector<Line> lines = lines_for(table, rows);
  ASSERT_GT(lines.size(), 5U);
  for (size_t i = 0; i < lines.size(); ++i) {
    const int64_t tiles = (m + lines[i].tile_m - 1) / lines[i].tile_m;
    const double whole = static_cast<double>(tiles * lines[i].tile_m) / static_cast<double>(m);
    EXPECT_NEAR(lines[i].cycles, lines[i].all_rows * whole, 0.01 * whole) << lines[i].kernel;
    EXPECT_GE(lines[i].cycles, i > 0 ? lines[i - 1].cycles : 0) << lines[i].kernel;
  }
}

TEST(SweepCommand, MakesAllThatFitsAndCountsTheRest) {
  const Folder folder;
  const Ran ran = run(folder, std::string(kFamily) + " --isa avx2 --out sweeps");
  ASSERT_EQ(ran.status, 0) << ran.output;
  const fs::path own = folder.path() / "sweeps" / (std::string(kFamily) + "-b32-f16-avx2");
  const std::string table = read(own / "sweep.txt");
  EXPECT_EQ(table.rfind("tilewright sweep " + std::string(kFamily), 0), 0U);
  EXPECT_NE(table.find("blocks of 32 with f16 on avx2, core zen3: "), std::string::npos);

  const size_t tried = count_of(table, "tried"), fit = count_of(table, "fit;");
  EXPECT_GT(fit, 5U);
  size_t refused = 0;
  std::istringstream reasons(table.substr(table.find("refused:") + 9));
  for (std::string line; std::getline(reasons, line) && !line.empty();) refused += std::stoul(line);
  EXPECT_EQ(tried, fit + refused);
  EXPECT_GT(count_of(table, "tile N needs N vector registers on avx2"), 0U);

  size_t kernels = 0, entries = 0;
  for (const auto& file : fs::directory_iterator(own / "kernels")) {
    kernels += file.path().extension() == ".S" ? 1 : 0;
  }
  for (const auto& file : fs::directory_iterator(own / "specs")) {
    const std::string text = read(file.path());
    for (size_t at = 0; (at = text.find("- {isa: avx2", at)) != std::string::npos; ++at) ++entries;
  }
  EXPECT_EQ(kernels, fit);
  EXPECT_EQ(entries, fit);

  for (const auto& [rows, m] : std::vector<std::pair<std::string, int64_t>>{
           {"1 row", 1}, {"4 rows", 4}, {"16 rows", 16}, {"128 rows", 128}}) {
    expect_ordered(table, rows, m);
    for (const Line& line : lines_for(table, rows)) {
      EXPECT_TRUE(fs::exists(own / "kernels" / ("tw_matmul_clamp_f32_" + line.kernel + ".S")))
          << line.kernel;
    }
  }
  EXPECT_NE(table.find("qsi8d32p2x4_qsi8c32p16x4_2x16_avx2_far_asm  (ships)"), std::string::npos);
  // Each spec is one that `generate` takes.
  const Ran again =
      run_command("cd '" + own.string() +
                  "' && '" TILEWRIGHT_COMMAND "' generate --spec specs/dot-p8x4.yaml --out one");
  EXPECT_EQ(again.status, 0) << again.output;
}

TEST(SweepCommand, ItsFolderIsItsOwn) {
  const Folder folder;
  const std::string name = std::string(kFamily) + "-b32-f16-avx2";
  folder.write("sweeps/" + name + "/letter.txt", "mine");
  Ran ran = run(folder, std::string(kFamily) + " --isa avx2 --out sweeps");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(ran.output, "sweeps/" + name +
                            " is not empty and holds no sweep (sweep.txt): give another folder "
                            "with --out\n");
  EXPECT_EQ(read(folder.path() / "sweeps" / name / "letter.txt"), "mine");
  folder.write("sweeps/" + name + "/sweep.txt", "mine");
  ran = run(folder, std::string(kFamily) + " --isa avx2 --out sweeps");
  EXPECT_EQ(ran.status, 1);
  EXPECT_EQ(read(folder.path() / "sweeps" / name / "sweep.txt"), "mine");
  ran = run(folder, std::string(kFamily) + " --isa avx2 --out " TILEWRIGHT_SOURCE_DIR "/specs");
  EXPECT_EQ(ran.status, 2);
  EXPECT_NE(ran.output.find("is in the source tree: a folder outside of it, or build/..., is"),
            std::string::npos)
      << ran.output;
}

TEST(SweepCommand, Errors) {
  const Folder folder;
  const auto expect = [&](const std::string& arguments, int status, const std::string& part) {
    const Ran ran = run(folder, arguments);
    EXPECT_EQ(ran.status, status) << ran.output;
    EXPECT_NE(ran.output.find(part), std::string::npos) << ran.output;
    EXPECT_FALSE(fs::exists(folder.path() / "build")) << arguments;
  };
  expect("matmul_clamp_f32_f32_f32 --isa avx2", 2, "did you mean 'matmul_clamp_f32_f32_f32p'?");
  expect("matmul_clamp_f32_f32_f32p --isa avx3", 1, "avx2");
  expect("matmul_clamp_f32_f32_f32p --isa scalar", 1,
         "scalar has no assembly: a compiler chooses its instructions, and no core model orders");
  expect(
      "matmul_clamp_f32_qai8dxp_qsi8cxp --isa avx512f", 1,
      "qsi8cxp on avx512f: no instruction of it multiplies what qai8dx and qsi8cx are packed as");
  expect("matmul_clamp_f32_f32_f32p --isa avx2 --block 32", 2, "has no blocks");
  expect(std::string(kFamily) + " --isa avx2 --block 48", 1, "blocks of 48 are not possible");
  expect(std::string(kFamily) + " --isa avx2 --scales f64", 1, "unknown scale type 'f64'");
  expect("matmul_clamp_f32_f32_f32p --isa avx2 --core abacus", 1, "abacus");
  expect("matmul_clamp_f32_f32_f32p --isa aarch64", 2, "a table for others to extend");
  expect("matmul_clamp_f32_f32_f32p", 2, "--isa");
  expect("matmul_decoded_clamp_f32_qsi8d32p_qsi5c32p --isa avx2 --measure 1", 2,
         "--measure is not possible with matmul_decoded_clamp_f32_qsi8d32p_qsi5c32p");
}

}  // namespace
}  // namespace tw::command_test
