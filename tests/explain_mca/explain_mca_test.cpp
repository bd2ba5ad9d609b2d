// What `tilewright explain` says that kernels cost, against llvm-mca: every shipped kernel in
// assembly on every core that both know and that runs it. For cores that issue in order, also the
// kernel as scheduled for that core.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "emit/assembly_printer.h"
#include "emit/explain.h"
#include "mca.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/spec_reader.h"

#ifndef LLVM_MCA
#define LLVM_MCA ""
#endif

namespace tw::test {
namespace {

namespace fs = std::filesystem;

const fs::path source = TILEWRIGHT_SOURCE_DIR;
const fs::path templates = source / "templates";

constexpr double allowed = 0.10;

/// A kernel's loop on a core.
struct Case {
  std::string kernel;
  std::string scheduled_for;
  double cycles = 0;  ///< ours
};

bool runs(const McaCore& core, const Variant& variant) {
  const std::vector<std::string>& needed = variant.isa->features;
  return std::all_of(needed.begin(), needed.end(), [&](const std::string& feature) {
    return std::find(core.features.begin(), core.features.end(), feature) != core.features.end();
  });
}

/// Cores to look at the kernel as scheduled for: what `explain --core` does.
std::vector<std::string> schedules(const Variant& variant, const CoreModel& core) {
  std::vector<std::string> cores = {core_name(variant)};
  if (core.in_order && variant.knobs.core.empty()) cores.push_back(core.name);
  return cores;
}

void add_case(const Variant& variant, const CoreModel& core, const std::string& scheduled_for,
              std::vector<Case>& cases, std::vector<McaLoop>& loops) {
  const Compiled compiled = compile(variant, read_core(templates, scheduled_for));
  const Dialect dialect = read_dialect(templates);
  const Explanation cost = explain(*compiled.allocated, core);
  const std::string text = print_assembly(*compiled.allocated, "kernel", dialect, "");
  cases.push_back({variant.name(), scheduled_for, cost.cycles});
  loops.push_back({loop_text(text, dialect.local_label + cost.loop)});
}

/// Prints a line of the table and returns whether the two agree.
bool report(const Case& ours, const McaLoop& mca, const std::string& core) {
  const double off = ours.cycles / mca.cycles - 1;
  const bool agree = std::abs(off) <= allowed;
  fmt::print("{:76} {:11} {:11} {:7.1f} {:7.1f}{} {:+6.1f} %{}\n", ours.kernel, ours.scheduled_for,
             core, ours.cycles, mca.cycles, mca.excepted ? '*' : ' ', 100 * off,
             agree ? "" : "  <<<");
  return agree;
}

std::vector<Variant> shipped(IsaLibrary& isas) {
  std::vector<Variant> variants;
  for (const std::string& name : yaml_names(source / "specs")) {
    for (Variant& it : read_spec(source / "specs" / (name + ".yaml"), isas)) {
      if (it.print_assembly && it.isa->can_print_assembly) variants.push_back(std::move(it));
    }
  }
  return variants;
}

TEST(ExplainMca, CyclesAgree) {
  if (std::string(LLVM_MCA).empty()) {
    ASSERT_EQ(std::getenv("TILEWRIGHT_ALL_TOOLS"), nullptr) << "llvm-mca-19 is not installed";
    GTEST_SKIP() << "llvm-mca-19 is not installed (scripts/setup-arm-tools does)";
  }
  IsaLibrary isas(templates);
  const std::vector<Variant> variants = shipped(isas);
  fmt::print("{:76} {:11} {:11} {:>7} {:>7}   difference\n", "cycles of the hot loop", "schedule",
             "core", "ours", "mca");
  for (const McaCore& core : read_mca_cores(source / "tests/explain_mca/cores.yaml")) {
    const CoreModel model = read_core(templates, core.core);
    std::vector<Case> cases;
    std::vector<McaLoop> loops;
    for (const Variant& variant : variants) {
      if (!runs(core, variant)) continue;
      for (const std::string& scheduled_for : schedules(variant, model)) {
        add_case(variant, model, scheduled_for, cases, loops);
      }
    }
    EXPECT_FALSE(cases.empty()) << core.core;
    run_mca(LLVM_MCA, core, loops);
    for (size_t i = 0; i < cases.size(); ++i) {
      EXPECT_TRUE(report(cases[i], loops[i], core.core)) << cases[i].kernel << ", " << core.core;
    }
  }
  fmt::print("* with what llvm-mca is known to be wrong about: tests/explain_mca/cores.yaml\n");
}

}  // namespace
}  // namespace tw::test
