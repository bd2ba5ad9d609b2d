#include "model/layout.h"

#include <gtest/gtest.h>

#include <functional>
#include <map>

namespace tw {
namespace {

Layout layout() {
  Layout layout;
  layout.side = Side::rhs;
  layout.element = ElementType::i4;
  layout.panel = 8;
  layout.order = {4, NibblePair::depth, true, true, 4};
  layout.fields = {{FieldKind::data, ElementType::i4},
                   {FieldKind::sums, ElementType::i32},
                   {FieldKind::scales, ElementType::f32}};
  return layout;
}

// Packed weights are recognized by the id alone: whatever changes a byte must change it.
TEST(Layout, EveryChoiceIsInTheId) {
  const std::map<std::string, std::function<void(Layout&)>> changes = {
      {"none", [](Layout&) {}},
      {"side", [](Layout& l) { l.side = Side::lhs; }},
      {"element", [](Layout& l) { l.element = ElementType::i8; }},
      {"panel", [](Layout& l) { l.panel = 16; }},
      {"scalable panel", [](Layout& l) { l.panel = Length(0, 8); }},
      {"kr", [](Layout& l) { l.order.kr = l.order.distance = 8; }},
      {"distance of nibbles", [](Layout& l) { l.order.distance = 16; }},
      {"pairs", [](Layout& l) { l.order.pair = NibblePair::column; }},
      {"low nibble", [](Layout& l) { l.order.low_unsigned = false; }},
      {"high nibble", [](Layout& l) { l.order.high_unsigned = false; }},
      {"k_multiple", [](Layout& l) { l.k_multiple = 64; }},
      {"edge", [](Layout& l) { l.edge = Edge::last; }},
      {"rounding", [](Layout& l) { l.rounding = Rounding::away; }},
      {"block", [](Layout& l) { l.block = 32; }},
      {"per block", [](Layout& l) { l.block = 32, l.fields[2].per_block = true; }},
      {"bf16 scales", [](Layout& l) { l.fields[2].type = ElementType::bf16; }},
      {"order of fields", [](Layout& l) { std::swap(l.fields[1], l.fields[2]); }},
      {"type of a field", [](Layout& l) { l.fields[2].type = ElementType::f16; }},
      {"kind of a field", [](Layout& l) { l.fields[2].kind = FieldKind::bias; }},
      {"factor", [](Layout& l) { l.fields[1].factor = 16; }},
      {"base of sums", [](Layout& l) { l.fields[1].base = float_base; }},
      {"factor of scales", [](Layout& l) { l.fields[2].factor = 16; }},
      {"repeat", [](Layout& l) { l.fields[1].repeat = 2; }},
      {"one field less", [](Layout& l) { l.fields.pop_back(); }},
  };
  std::map<uint64_t, std::string> ids;
  for (const auto& [name, change] : changes) {
    Layout changed = layout();
    change(changed);
    const auto [first, is_new] = ids.emplace(id(changed), name);
    EXPECT_TRUE(is_new) << name << " and " << first->second << ": " << canonical(changed);
  }
}

TEST(Layout, SumsAreExactUpToTheLastKThatFits) {
  const auto most = [](int64_t magnitude) { return 0x7fffffff / magnitude; };
  Layout l = layout();
  EXPECT_EQ(exact_k(l), most(128 * 128));
  l.fields[1].factor = 16;
  EXPECT_EQ(exact_k(l), most(255 * 8 * 16));
  l.fields[1].factor = 1;
  l.element = ElementType::i8;
  EXPECT_EQ(exact_k(l), most(255 * 128));
  l.fields.push_back({FieldKind::zero_points, ElementType::f32, 1, 1, false});
  EXPECT_EQ(exact_k(l), most(255 * 255));  // of weights less zero points of columns
  l.block = 32;
  EXPECT_EQ(exact_k(l), 0);
  l.block = 0;
  l.side = Side::lhs;
  EXPECT_EQ(exact_k(l), 0);
  l.side = Side::rhs;
  l.element = ElementType::f32;
  EXPECT_EQ(exact_k(l), 0);
}

}  // namespace
}  // namespace tw
