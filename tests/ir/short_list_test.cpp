#include "ir/short_list.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

namespace tw::test {
namespace {

using Three = ShortList<int, 3>;

std::vector<int> all(const Three& list) {
  std::vector<int> found(list.begin(), list.end());
  EXPECT_EQ(found.size(), list.size());
  EXPECT_EQ(found.empty(), list.empty());
  return found;
}

TEST(ShortList, IsAVectorOnBothSidesOfItsLimit) {
  Three list;
  std::vector<int> expected;
  EXPECT_EQ(all(list), expected);
  for (int i = 0; i < 7; ++i) {
    list.push_back(i);
    expected.push_back(i);
    EXPECT_EQ(all(list), expected);
    EXPECT_EQ(list.front(), 0);
    EXPECT_EQ(list.back(), i);
    EXPECT_EQ(list[static_cast<size_t>(i)], i);
  }
  while (!expected.empty()) {
    list.pop_back();
    expected.pop_back();
    EXPECT_EQ(all(list), expected);
  }
  list.push_back(9);
  EXPECT_EQ(all(list), std::vector<int>{9});
}

TEST(ShortList, CopiesAreTheirOwn) {
  for (const std::vector<int>& values : {std::vector<int>{1, 2}, std::vector<int>{1, 2, 3, 4}}) {
    Three list = values;
    Three copy = list;
    copy[0] = 5;
    copy.push_back(6);
    EXPECT_EQ(all(list), values);
    EXPECT_EQ(copy.size(), values.size() + 1);
    const Three moved = std::move(list);
    EXPECT_EQ(all(moved), values);
    copy.clear();
    EXPECT_TRUE(copy.empty());
    copy = {7};
    EXPECT_EQ(all(copy), std::vector<int>{7});
  }
}

}  // namespace
}  // namespace tw::test
