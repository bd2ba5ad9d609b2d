#include "model/row_text.h"

#include <gtest/gtest.h>

#include <stdexcept>

namespace tw::row_text_test {
namespace {

const RowTextValues values = {
    {"a", [](std::string_view view) { return view == "y" ? "ymm1" : "zmm1"; }},
    {"o", [](std::string_view) { return "64"; }},
};

std::string error(const std::string& text) {
  try {
    format_row_text(text, values);
  } catch (const std::invalid_argument& e) {
    return e.what();
  }
  return "";
}

TEST(RowText, ReplacesNamesAndViews) {
  EXPECT_EQ(format_row_text("op {a}, {a:y}, [{o}]", values), "op zmm1, ymm1, [64]");
  EXPECT_EQ(format_row_text("", values), "");
}

TEST(RowText, DoubledBracesAreBraces) {
  EXPECT_EQ(format_row_text("{{{a}}}, {{1to16}}", values), "{zmm1}, {1to16}");
}

TEST(RowText, RefusesUnknownNamesAndLooseBraces) {
  EXPECT_EQ(error("{b}"), "no value for 'b' (known: a, o) in \"{b}\"");
  EXPECT_EQ(error("{a"), "'{' without '}' (write '{{' for a brace) in \"{a\"");
  EXPECT_EQ(error("a}"), "'}' without '{' (write '}}' for a brace) in \"a}\"");
  EXPECT_EQ(error("{a{o}}"), "'{' without '}' (write '{{' for a brace) in \"{a{o}}\"");
  EXPECT_EQ(error("{}"), "'{}' without a name in \"{}\"");
}

TEST(RowText, ListsPlaceholders) {
  const std::vector<Placeholder> found = placeholders("{{x}} {a:y} {o}");
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].name, "a");
  EXPECT_EQ(found[0].view, "y");
  EXPECT_EQ(found[1].name, "o");
  EXPECT_EQ(found[1].view, "");
}

TEST(RowText, SaysWhatParenthesesAndCommasEnclose) {
  const auto marked = [](const std::string& text) {
    return replace_placeholders(
        text, [](const Placeholder& p) { return p.enclosed ? p.name : "<" + p.name + ">"; });
  };
  EXPECT_EQ(marked("f({a}, {b}, {c})"), "f(a, b, c)");
  EXPECT_EQ(marked("{a}"), "a");
  EXPECT_EQ(marked("({a} + {b})"), "(<a> + <b>)");
  EXPECT_EQ(marked("g((int *){a}, *{b})"), "g((int *)<a>, *<b>)");
}

}  // namespace
}  // namespace tw::row_text_test
