// What tables of cores say of instructions side by side, against what was measured on such a core,
// where llvm-mca is wrong.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "schedule/cost.h"
#include "schedule/simulate.h"
#include "spec/core_reader.h"

namespace tw::test {
namespace {

/// Instructions of these classes, so many of each, and the cycles that they took.
struct Mix {
  std::string core;
  std::vector<std::pair<std::string, int>> instructions;
  double cycles = 0;
};

std::string text_of(const Mix& mix) {
  std::string text = mix.core + ":";
  for (const auto& [name, count] : mix.instructions) {
    text += ' ' + std::to_string(count) + ' ' + name;
  }
  return text;
}

/// Of 512-bit vectors on Granite Rapids. 64 vpdpbusd alone took 32.0. Where loads beside products
/// lower the clock by a tenth, the cycles are those that the lower clock makes.
const std::vector<Mix> measured = {
    {"redwood-cove", {{"dot", 64}}, 32.0},
    {"redwood-cove", {{"dot", 64}, {"logic", 32}}, 47.5},
    {"redwood-cove", {{"dot", 64}, {"shift", 32}}, 47.5},
    {"redwood-cove", {{"dot", 64}, {"convert", 32}}, 47.5},
    {"redwood-cove", {{"dot", 64}, {"fadd", 32}}, 47.5},
    {"redwood-cove", {{"dot", 64}, {"mul", 32}}, 47.5},
    {"redwood-cove", {{"dot", 64}, {"shuffle", 32}}, 47.5},
    {"redwood-cove", {{"dot", 64}, {"mul.bits", 32}}, 47.5},
    {"redwood-cove", {{"dot", 64}, {"convert.half", 32}}, 64.0},
    {"redwood-cove", {{"dot", 64}, {"convert", 8}, {"fma", 8}}, 40.4},
    {"redwood-cove", {{"dot", 64}, {"convert", 8}, {"mul", 8}, {"fma", 8}}, 43.7},
    {"redwood-cove", {{"dot", 64}, {"load_dup", 32}}, 31.8},
    {"redwood-cove", {{"dot", 64}, {"load_dup", 64}}, 34.5},
    {"redwood-cove", {{"dot", 64}, {"load", 32}}, 36.7 / 1.1},
    {"redwood-cove", {{"dot", 64}, {"prefetch", 16}, {"load_dup", 32}}, 33.8},
    {"redwood-cove", {{"fma_load", 64}, {"convert.half", 8}}, 43.8 / 1.1},
    {"redwood-cove", {{"shift", 64}}, 61.5},
    {"redwood-cove", {{"shuffle", 64}}, 61.5},
    {"redwood-cove", {{"mul.bits", 64}}, 61.5},
    {"redwood-cove", {{"convert.half", 64}}, 63.5},
    {"redwood-cove", {{"store", 64}}, 63.5},
    {"redwood-cove", {{"load", 64}}, 31.5},
    {"redwood-cove", {{"load_dup", 64}}, 21.2},
    {"redwood-cove", {{"dot.bf16", 64}}, 127.0},
    {"redwood-cove", {{"zero", 64}}, 10.8},
    {"redwood-cove", {{"move", 64}}, 10.8},
    // Of 256-bit vectors on Zen 3, beside other work: the fastest of 300 rounds.
    {"zen3", {{"fma", 48}}, 24.7},
    {"zen3", {{"mul.int", 48}}, 24.7},
    {"zen3", {{"mul.int", 24}, {"logic", 24}}, 12.7},
    {"zen3", {{"mul.int", 24}, {"shift", 24}}, 12.6},
    {"zen3", {{"mul.int", 32}, {"shuffle", 16}}, 16.6},
    {"zen3", {{"mul.int", 24}, {"fadd", 24}}, 16.7},
    {"zen3", {{"mul.int", 24}, {"mul", 24}}, 17.1},
    {"zen3", {{"shift", 24}, {"shuffle", 24}}, 24.6},
    {"zen3", {{"shift", 24}, {"convert", 24}}, 16.4},
    {"zen3", {{"convert", 24}, {"fadd", 24}}, 24.5},
    {"zen3", {{"convert.half", 48}}, 49.0},
    {"zen3", {{"convert_load", 48}}, 25.5},
    {"zen3", {{"load", 48}}, 25.2},
    {"zen3", {{"load_dup", 48}}, 25.1},
    {"zen3", {{"store", 48}}, 48.3},
    {"zen3", {{"prefetch", 48}}, 16.1},
};

/// As simulations have it: of ports and of the instructions that begin in a cycle, the slower.
double predicted(const Mix& mix, const CoreModel& core) {
  std::vector<IssueClass> all;
  int micro_ops = 0;
  for (const auto& [name, count] : mix.instructions) {
    const IssueClass& its = core.classes.at(name);
    all.insert(all.end(), static_cast<size_t>(count), its);
    micro_ops += count * its.micro_ops;
  }
  return std::max(port_cycles(all), static_cast<double>(micro_ops) / core.width);
}

TEST(MeasuredMixes, AreWhatTablesOfCoresSay) {
  constexpr double allowed = 0.08;
  for (const Mix& mix : measured) {
    const CoreModel core =
        read_core(std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates", mix.core);
    const double off = predicted(mix, core) / mix.cycles - 1;
    EXPECT_LE(std::abs(off), allowed)
        << text_of(mix) << ": " << predicted(mix, core) << " cycles, " << mix.cycles << " measured";
  }
}

/// A cycle, of 512-bit vectors on Granite Rapids, and the clock.
struct Clock {
  double multiplies, loads, ghz;
};

TEST(MeasuredClocks, AreWhatTablesOfCoresSay) {
  const std::filesystem::path templates =
      std::filesystem::path(TILEWRIGHT_SOURCE_DIR) / "templates";
  const CoreModel core = read_core(templates, "redwood-cove");
  for (const Clock& it : {Clock{1.7, 0.8, 3.07},
                          {1.3, 1.3, 3.07},
                          {1.7, 0.4, 3.38},
                          {1.0, 1.0, 3.38},
                          {1.7, 0, 3.38}}) {
    EXPECT_DOUBLE_EQ(core.ghz * clock_share(core, it.multiplies, it.loads), it.ghz)
        << it.multiplies << " products and " << it.loads << " loads";
  }
  EXPECT_EQ(clock_share(read_core(templates, "zen5"), 1.7, 1.7), 1);
}

}  // namespace
}  // namespace tw::test
