// This build's generator makes the files that ship, whatever compiler built it: one kernel in a
// dozen, every packer; with sanitizers a third of the former and a fifth of the latter. (All of
// them: `tilewright generate --check`.) And every packer is named by itself.
#include "pipeline/generated_tree.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "emit/packer.h"
#include "emit/write_tree.h"
#include "ship/one_of_each.h"
#include "support/environment.h"

namespace tw::generated_tree_test {
namespace {

namespace fs = std::filesystem;

const fs::path kSource = TILEWRIGHT_SOURCE_DIR;

std::set<std::string> one_row_in(size_t step) {
  IsaLibrary isas(kSource / "templates");
  std::set<std::string> rows;
  size_t n = 0;
  for (const Variant& variant : read_variants(shipped_specs(), isas)) {
    for (const std::string& row : row_names(variant)) {
      if (n++ % step == 0) rows.insert(row);
    }
  }
  return rows;
}

/// Heads name the specs by their paths, which are others here.
std::string without_head(const std::string& text) {
  return text.substr(std::min(text.size(), text.find("#include")));
}

/// Compares a file that the generator makes with the one that ships; false: none does.
bool is_as_shipped(const std::string& file, const std::string& text) {
  const fs::path shipped = kSource / "generated" / file;
  if (!fs::exists(shipped)) return false;
  EXPECT_EQ(without_head(text), without_head(read_text(shipped))) << file;
  return true;
}

TEST(GeneratedTree, KernelsAreWhatShips) {
  const std::set<std::string> rows = one_row_in(test::is_sanitized ? 36 : 12);
  const GeneratedTree tree =
      generate_tree(shipped_specs(), {kSource / "templates", {"test", "test"}, {}, rows});
  size_t compared = 0;
  for (const TreeFile& file : tree.files) {
    const std::string row = fs::path(file.path).stem().string();
    if (tree.hashes.count(row) != 0 && is_as_shipped(file.path, file.text)) ++compared;
  }
  EXPECT_GT(compared, rows.size() / 2);  // the others share theirs
  EXPECT_GT(rows.size(), 25U);
}

TEST(GeneratedTree, PackersAreWhatShips) {
  IsaLibrary isas(kSource / "templates");
  std::vector<Variant> variants = read_variants(shipped_specs(), isas);
  const bool is_sampled = test::is_sanitized && !test::is_long();
  if (is_sampled) variants.resize(variants.size() / 5);
  const std::vector<PackerSource> packers =
      make_packers({variants.begin(), variants.end()}, (kSource / "templates").string());
  EXPECT_GT(packers.size(), is_sampled ? 20U : 100U);
  for (const PackerSource& packer : packers) {
    EXPECT_TRUE(is_as_shipped(packer.symbol + ".c", packer.text)) << packer.symbol;
  }
}

/// Every packer of `some` is one of `all`, by its name and into the same layouts.
void expect_among(const std::map<std::string, std::vector<Layout>>& some,
                  const std::map<std::string, std::vector<Layout>>& all) {
  for (const auto& [name, layouts] : some) {
    const auto found = all.find(name);
    ASSERT_NE(found, all.end()) << name;
    for (const Layout& layout : layouts) {
      const auto same = std::find(found->second.begin(), found->second.end(), layout);
      EXPECT_NE(same, found->second.end()) << name << ": " << canonical(layout);
    }
  }
}

TEST(GeneratedTree, NamesHangOnNothingElse) {
  IsaLibrary isas(kSource / "templates");
  std::vector<Variant> variants = read_variants(shipped_specs(), isas);
  const auto all = packed_layouts(variants);
  std::map<std::string, std::vector<Variant>> families;
  for (const Variant& variant : variants) families[variant.family.name].push_back(variant);
  EXPECT_GT(families.size(), 20U);
  std::set<std::string> names;
  for (const auto& [family, its] : families) {
    SCOPED_TRACE(family + " alone");
    const auto alone = packed_layouts(its);
    expect_among(alone, all);
    for (const auto& [name, layouts] : alone) names.insert(name);
  }
  EXPECT_EQ(names.size(), all.size());
  std::reverse(variants.begin(), variants.end());
  const auto reversed = packed_layouts(variants);
  EXPECT_EQ(reversed.size(), all.size());
  expect_among(reversed, all);
}

}  // namespace
}  // namespace tw::generated_tree_test
