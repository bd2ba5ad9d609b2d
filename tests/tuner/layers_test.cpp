// The user's records lie on top of those that ship.
#include "tuner/layers.h"

#include <gtest/gtest.h>

#include <functional>

#include "tuner/sample_record.h"

namespace tw::tuner {
namespace {

Record of(const char* kernel, size_t m) {
  Record record = tuner::test::sample_record();
  record.ran.kernel = kernel;
  record.problem.m = m;
  return record;
}

std::vector<std::string> kernels(const std::vector<Record>& records) {
  std::vector<std::string> names;
  for (const Record& r : records) names.push_back(r.ran.kernel);
  return names;
}

using Names = std::vector<std::string>;

TEST(Layers, OwnRecordsOfACellReplaceThoseThatShip) {
  const std::vector<Record> shipped = {of("a", 1), of("b", 1), of("c", 4), of("d", 8)};
  EXPECT_EQ(kernels(layered({}, shipped)), (Names{"a", "b", "c", "d"}));
  EXPECT_EQ(kernels(layered({of("mine", 1)}, shipped)), (Names{"mine", "c", "d"}));
  EXPECT_EQ(kernels(layered({of("mine", 8), of("mine too", 2)}, shipped)),
            (Names{"mine", "mine too", "a", "b", "c"}));
  EXPECT_EQ(kernels(layered({of("mine", 1)}, {})), Names{"mine"});
}

TEST(Layers, OtherCellsAreLeftAlone) {
  const auto kept = [](const std::function<void(Record&)>& change) {
    Record other = of("shipped", 1);
    change(other);
    return layered({of("mine", 1)}, {other}).size() == 2;
  };
  EXPECT_FALSE(kept([](Record&) {}));
  EXPECT_FALSE(kept([](Record& r) { r.outcome = Outcome::crash; }));
  EXPECT_TRUE(kept([](Record& r) { r.problem.n = 1; }));
  EXPECT_TRUE(kept([](Record& r) { r.threads = 9; }));
  EXPECT_TRUE(kept([](Record& r) { r.regime = Regime::streamed; }));
  EXPECT_TRUE(kept([](Record& r) { r.core.l2 = 1; }));
}

TEST(Layers, OfTheSameCores) {
  std::vector<Record> shipped = {of("a", 1), of("b", 2), of("c", 3)};
  shipped[1].core.midr = 0x410fd460;
  EXPECT_EQ(kernels(of_same_cores({of("mine", 9)}, shipped)), (Names{"a", "c"}));
  EXPECT_EQ(kernels(of_same_cores({}, shipped)), Names{});
}

}  // namespace
}  // namespace tw::tuner
