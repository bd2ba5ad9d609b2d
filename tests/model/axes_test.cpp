#include "model/axes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <stdexcept>

#include "model/sources.h"
#include "spec/spec_reader.h"
#include "support/environment.h"

namespace tw {
namespace {

/// All layouts that specs ask for, by their text.
std::map<std::string, Layout> spec_layouts() {
  const std::filesystem::path root = TILEWRIGHT_SOURCE_DIR;
  IsaLibrary isas(root / "templates");
  std::map<std::string, Layout> found;
  for (const auto& entry : std::filesystem::directory_iterator(root / "specs")) {
    if (entry.path().filename().string().rfind("matmul_", 0) != 0) continue;
    for (const Variant& variant : read_spec(entry.path(), isas)) {
      found.emplace(canonical(variant.lhs), variant.lhs);
      found.emplace(canonical(variant.rhs), variant.rhs);
    }
  }
  return found;
}

/// Where codes lie within a block, or a panel without blocks, told without axes.
struct Restated {
  int64_t byte;
  int shift;
  int offset;
};

Restated restated(const Layout& layout, int64_t row, int64_t k, VectorLength vl) {
  const DataOrder& order = layout.order;
  const int64_t kr = order.kr;
  const int64_t panel = layout.panel.at(vl);
  switch (order.pair) {
    case NibblePair::none: {
      const int64_t in_group = order.even_first ? k % kr / 2 + k % 2 * (kr / 2) : k % kr;
      return {((k / kr * panel + row) * kr + in_group) * (bits(layout.element) / 8), 0,
              (order.low_unsigned ? 128 : 0) + order.raised};
    }
    case NibblePair::depth: {
      const int64_t distance = order.distance;
      const int width = bits(layout.element);
      const int64_t codes = 8 / width;
      const int64_t group = k / (codes * distance) * (distance / kr) + k % distance / kr;
      const int64_t code = k % (codes * distance) / distance;
      const bool high = code == codes - 1;
      return {(group * panel + row) * kr + k % kr, static_cast<int>(code) * width,
              (high ? order.high_unsigned : order.low_unsigned) ? 1 << (width - 1) : 0};
    }
    case NibblePair::column: {
      const int64_t segments = layout.panel.vl != 0 ? vl.vl : layout.panel.svl != 0 ? vl.svl : 1;
      const int64_t half = segments * 16 / kr;
      const bool low = row / half % 2 == 1;
      return {
          k / kr * (panel * kr / 2) + row / (2 * half) * segments * 16 + row % half * kr + k % kr,
          low ? 0 : 4, (low ? order.low_unsigned : order.high_unsigned) ? 8 : 0};
    }
    case NibblePair::next:
      return {((k / kr * panel + row) * kr + k % kr) / byte_codes(layout),
              static_cast<int>(k % byte_codes(layout)) * bits(layout.element),
              (k % 2 == 0 ? order.low_unsigned : order.high_unsigned)
                  ? 1 << (bits(layout.element) - 1)
                  : 0};
  }
  return {};
}

/// Bytes of a field of a panel, or of its block.
int64_t bytes_of(const Layout& layout, const Field& field, int64_t k, VectorLength vl) {
  const int64_t panel = layout.panel.at(vl);
  if (field.kind == FieldKind::tops) return panel * layout.block * bits(field.type) / 8;
  if (field.kind != FieldKind::data) return panel * field.repeat * bits(field.type) / 8;
  return panel * (layout.block != 0 ? layout.block : k) * bits(layout.element) / 8;
}

/// Fields in memory order, those of blocks once a block; those that stand apart behind all codes.
int64_t start_of(const Layout& layout, FieldKind kind, int64_t k, int64_t block, VectorLength vl) {
  if (layout.fields.back().apart) {
    const Field& field = field_of(layout, kind);
    const int64_t codes = k * layout.panel.at(vl) * bits(layout.element) / 8;
    return field.apart ? codes + block * bytes_of(layout, field, k, vl)
                       : block * bytes_of(layout, field, k, vl);
  }
  const auto in_block = [&](const Field& field) {
    return layout.block != 0 && (field.kind == FieldKind::data || field.per_block);
  };
  const bool inside = in_block(field_of(layout, kind));
  int64_t all_blocks = 0;
  int64_t before = 0;
  bool seen = false;
  for (const Field& field : layout.fields) {
    const int64_t bytes = bytes_of(layout, field, k, vl);
    if (in_block(field)) all_blocks += bytes;
    if (field.kind == kind) seen = true;
    if (!seen) before += in_block(field) && !inside ? bytes * (k / layout.block) : bytes;
  }
  return inside ? before + all_blocks * block : before;
}

/// Likewise with super-blocks: steps, then blocks.
int64_t start_in_super_blocks(const Layout& layout, FieldKind kind, int64_t k, int64_t block,
                              VectorLength vl) {
  int64_t steps = 0, in_block = 0, before = 0;
  bool seen = false;
  const Field& wanted = field_of(layout, kind);
  const auto group = [](const Field& field) {
    const bool repeated = field.kind == FieldKind::data || field.per_block;
    return is_step(field.kind) ? 0 : repeated ? 1 : 2;
  };
  for (const Field& field : layout.fields) {
    const int64_t bytes = bytes_of(layout, field, k, vl);
    if (group(field) == 0) steps += bytes;
    if (group(field) == 1) in_block += bytes;
    seen |= field.kind == kind;
    if (!seen && group(field) == group(wanted)) before += bytes;
  }
  const int64_t blocks = layout.super_block / layout.block;
  const int64_t super_block = steps + blocks * in_block;
  if (group(wanted) == 2) return k / layout.super_block * super_block + before;
  const int64_t first = block / blocks * super_block + before;
  return group(wanted) == 0 ? first : first + steps + block % blocks * in_block;
}

/// Tops of the first block, which begin at this byte: kr bytes of a column have those of as many
/// groups of kr as there are in the block; what is left of them, those of columns that are as far
/// away as the panel allows.
void compare_tops(const Layout& layout, int64_t row, const Sizes& sizes, int64_t first) {
  const int64_t kr = layout.order.kr, panel = layout.panel.at(sizes.vl);
  const int width = bits(field_of(layout, FieldKind::tops).type);
  const int64_t groups = std::min<int64_t>(8 / width, layout.block / kr);
  const int64_t others = 8 / width / groups;
  const int64_t near = panel / others;
  const Part panels = axes(layout);
  for (int64_t k = 0; k < layout.block; ++k) {
    const int64_t byte = (k / (kr * groups) * near + row % near) * kr + k % kr;
    const int64_t code = k / kr % groups + row / near * groups;
    ASSERT_EQ(place(panels, FieldKind::tops, {row, k, 0}, sizes), (first + byte) * 8 + code * width)
        << row << ", " << k;
  }
}

void compare(const Layout& layout, VectorLength vl) {
  SCOPED_TRACE(canonical(layout) + " at " + std::to_string(vl.vl));
  const int64_t k = 2 * std::max({layout.super_block, layout.block, layout.k_multiple});
  const auto start = [&](FieldKind kind, int64_t block) {
    return layout.super_block != 0 ? start_in_super_blocks(layout, kind, k, block, vl)
                                   : start_of(layout, kind, k, block, vl);
  };
  const Part panels = axes(layout);
  const Sizes sizes{k, vl, 0};
  const FieldAxes& data = field_axes(panels, FieldKind::data);
  for (int64_t row = 0; row < layout.panel.at(vl); ++row) {
    for (int64_t i = 0; i < k; ++i) {
      const int64_t block = layout.block != 0 ? i / layout.block : 0;
      const Restated wanted = restated(layout, row, layout.block != 0 ? i % layout.block : i, vl);
      const int64_t byte = wanted.byte + start(FieldKind::data, block);
      ASSERT_EQ(place(panels, FieldKind::data, {row, i, 0}, sizes), byte * 8 + wanted.shift)
          << row << ", " << i;
      ASSERT_EQ(offset(data, {row, i, 0}, vl), wanted.offset) << row << ", " << i;
    }
    for (const Field& field : layout.fields) {
      if (field.kind == FieldKind::data) continue;
      if (field.kind == FieldKind::tops) {
        compare_tops(layout, row, sizes, start(FieldKind::tops, 0));
        continue;
      }
      for (int64_t copy = 0; copy < field.repeat; ++copy) {
        const int64_t block = layout.block != 0 && field.per_block ? 1 : 0;
        const int64_t byte =
            start(field.kind, block) + (row * field.repeat + copy) * bits(field.type) / 8;
        ASSERT_EQ(place(panels, field.kind, {row, block * layout.block, copy}, sizes), byte * 8)
            << name(field.kind) << ' ' << row << ' ' << copy;
      }
    }
  }
}

// With sanitizers every fifth layout: they look at what makes all of them.
TEST(Axes, PlacesAreThoseOfTheFourOrders) {
  const auto layouts = spec_layouts();
  EXPECT_GT(layouts.size(), 150U);
  size_t number = 0;
  for (const auto& [text, layout] : layouts) {
    if (test::is_sanitized && !test::is_long() && ++number % 5 != 0) continue;
    for (const int64_t vl : {1, 2, 3, 4, 16}) {
      compare(layout, {vl, vl});
      if (layout.panel.is_fixed()) break;
    }
  }
}

TEST(Axes, EveryValueOfALayoutHasAPlaceOfItsOwn) {
  for (const auto& [text, layout] : spec_layouts()) EXPECT_NO_THROW(check(axes(layout))) << text;
}

Layout column_layout() {
  Layout layout;
  layout.element = ElementType::i4;
  layout.panel = 16;
  layout.order = {8, NibblePair::column, true, false, 8};
  layout.block = 32;
  layout.fields = {{FieldKind::data, ElementType::i4},
                   {FieldKind::scales, ElementType::f16, 1, 1, true},
                   {FieldKind::sums, ElementType::f32, 1, 2}};
  return layout;
}

TEST(Axes, HaveAText) {
  Layout layout = column_layout();
  EXPECT_EQ(to_string(axes(layout)),
            "n*@16 { k*@32 { data i4 [k4@8 n4@4 n2@1 k8@1 -n2@2] +8*n2@2 | scales f16 [n16@1] } | "
            "sums f32 [n16@1 copy2@1] }");
  layout.panel = Length{0, 8};
  layout.block = 0;
  EXPECT_EQ(to_string(axes(layout)),
            "n*@8vl { data i4 [k*@8 n2@4vl n2vl@1 k8@1 -n2@2vl] +8*n2@2vl | scales f16 [n8vl@1] | "
            "sums f32 [n8vl@1 copy2@1] }");
}

TEST(Axes, OfSourcesAreLayouts) {
  for (const Source& source : sources()) EXPECT_NO_THROW(check(source.axes)) << source.name;
  Layout layout = column_layout();
  ASSERT_NE(find_source("q4_0", layout), nullptr);
  EXPECT_EQ(to_string(find_source("q4_0", layout)->axes),
            "n*@1:stride { k*@32 { scales f16 [] | data i4 [k16@1 k2@16] +8 } }");
  EXPECT_EQ(find_source("q8_0", layout), nullptr);
  EXPECT_EQ(find_source("kxn", layout), nullptr) << "blocks";
  layout.fields[1].type = ElementType::bf16;
  EXPECT_EQ(find_source("q4_0", layout), nullptr) << "other scales";
}

/// Panels of floats take what says which floats it means, and from a name the type that they have.
TEST(Axes, OfSourcesForFloats) {
  Layout layout;
  layout.element = ElementType::f16;
  layout.fields = {{FieldKind::data, ElementType::f16}};
  ASSERT_NE(find_source("nxk", layout), nullptr);
  EXPECT_FALSE(converts(*find_source("nxk", layout), layout));
  ASSERT_NE(find_source("q4_0", layout), nullptr);
  EXPECT_TRUE(converts(*find_source("q4_0", layout), layout));
  EXPECT_NE(find_source("q8_0", layout), nullptr);
  EXPECT_EQ(find_source("q9_0", layout), nullptr);
  ASSERT_NE(find_source("q4_1", layout), nullptr);
  EXPECT_EQ(to_string(find_source("q4_1", layout)->axes),
            "n*@1:stride { k*@32 { scales f16 [] | minimums f16 [] | data i4 [k16@1 k2@16] +8 } }");
  EXPECT_EQ(find_source("q4_1", column_layout()), nullptr) << "nowhere to put a minimum";
}

/// The message that check() has for axes that were changed.
std::string refusal(const std::function<void(Part& root, FieldAxes& data)>& change) {
  Part root = axes(column_layout());
  auto& block = std::get<Part>(root.members.front());
  change(root, std::get<FieldAxes>(block.members.front()));
  try {
    check(root);
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

TEST(Axes, AreChecked) {
  using testing::HasSubstr;
  EXPECT_EQ(refusal([](Part&, FieldAxes&) {}), "");
  EXPECT_THAT(refusal([](Part&, FieldAxes& data) { data.axes.pop_back(); }),
              HasSubstr("n of data: 2 steps of 1 are followed by steps of 4"));
  EXPECT_THAT(refusal([](Part&, FieldAxes& data) { data.axes[3].step = 2; }),
              HasSubstr("k of data has no digit of single steps"));
  EXPECT_THAT(refusal([](Part& root, FieldAxes&) { root.over->extent = 2; }),
              HasSubstr("n of data ends: its coarsest digit is not '*'"));
  EXPECT_THAT(refusal([](Part&, FieldAxes& data) { data.axes[1].extent = rest; }),
              HasSubstr("n of data goes on behind '*'"));
  EXPECT_THAT(refusal([](Part&, FieldAxes& data) { data.axes[4].stride = 0; }),
              HasSubstr("two codes share a place"));
  EXPECT_THAT(refusal([](Part&, FieldAxes& data) { data.axes[4].stride = 2; }),
              HasSubstr("two values share bit"));
  EXPECT_THAT(refusal([](Part&, FieldAxes& data) { data.kind = FieldKind::bias; }),
              HasSubstr("there is no data"));
}

TEST(Axes, AFieldThatIsNotThereIsNamed) {
  EXPECT_THROW(field_axes(axes(column_layout()), FieldKind::bias), std::invalid_argument);
}

}  // namespace
}  // namespace tw
