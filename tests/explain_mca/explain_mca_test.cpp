// What `tilewright explain` says that kernels cost, against llvm-mca: every shipped kernel in
// assembly on every core that both know and that runs it; otherwise than in long runs, each on
// a third of the cores, and none with f16 and bf16 outputs or unusual blocks and scales, whose
// loops hardly differ. For cores that issue in order, also the kernel as scheduled for that core.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <map>

#include "emit/assembly_printer.h"
#include "emit/explain.h"
#include "mca.h"
#include "pipeline/pipeline.h"
#include "spec/core_reader.h"
#include "spec/spec_reader.h"
#include "support/environment.h"

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

/// A core that llvm-mca knows too, and what it runs.
struct Column {
  McaCore mca;
  CoreModel model;
  std::vector<Case> cases;
  std::vector<McaLoop> loops;
};

/// A kernel as scheduled for one core, which others run too.
struct Scheduled {
  Program program;
  std::string text;
};

Scheduled schedule(const Variant& variant, const std::string& core, const Dialect& dialect) {
  Compiled compiled = compile(variant, read_core(templates, core));
  std::string text = print_assembly(*compiled.allocated, "kernel", dialect, "");
  return {std::move(*compiled.allocated), std::move(text)};
}

/// Adds the kernel, of which there are `before` others, to the cores that run it.
void add_cases(const Variant& variant, size_t before, const Dialect& dialect,
               std::vector<Column>& columns) {
  std::map<std::string, Scheduled> made;
  size_t turn = before;
  for (Column& column : columns) {
    if (!runs(column.mca, variant)) continue;
    if (++turn % 3 != 0 && !is_long()) continue;
    for (const std::string& core : schedules(variant, column.model)) {
      if (made.count(core) == 0) made.emplace(core, schedule(variant, core, dialect));
      const Scheduled& kernel = made.at(core);
      const Explanation cost = explain(kernel.program, column.model);
      column.cases.push_back({variant.name(), core, cost.cycles});
      column.loops.push_back(
          {loop_text(kernel.text, dialect.objects.front().local_label + cost.loop)});
    }
  }
}

double allowed_for(const std::string& kernel, const McaCore& core) {
  for (const McaDifference& known : core.differences) {
    if (std::regex_search(kernel, known.kernels)) return known.allowed;
  }
  return allowed;
}

/// Prints a line of the table and returns whether the two agree.
bool report(const Case& ours, const McaLoop& mca, const McaCore& core) {
  const double off = ours.cycles / mca.cycles - 1;
  // Of cycles, which are exact where their ratio is not.
  const bool agree =
      std::abs(ours.cycles - mca.cycles) <= allowed_for(ours.kernel, core) * mca.cycles;
  fmt::print("{:76} {:11} {:11} {:7.1f} {:7.1f}{} {:+6.1f} %{}\n", ours.kernel, ours.scheduled_for,
             core.core, ours.cycles, mca.cycles, mca.excepted ? '*' : ' ', 100 * off,
             agree ? "" : "  <<<");
  return agree;
}

std::vector<Variant> shipped(IsaLibrary& isas) {
  std::vector<Variant> variants;
  for (const std::string& name : yaml_names(source / "specs")) {
    for (Variant& it : read_spec(source / "specs" / (name + ".yaml"), isas)) {
      // Of a depthwise convolution's long loops on cores that issue in order the model is up to 29
      // % off: it is for products of matrices.
      if (it.family.operation != Operation::matmul) continue;
      const bool usual = it.family.dst == ElementType::f32 && !it.family.accumulate &&
                         block_suffix(it.rhs, *it.family.rhs).empty();
      if (!is_long() && !usual) continue;
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
  fmt::print("{:76} {:11} {:11} {:>7} {:>7}   difference\n", "cycles of the hot loop", "schedule",
             "core", "ours", "mca");
  std::vector<Column> columns;
  for (const McaCore& core : read_mca_cores(source / "tests/explain_mca/cores.yaml")) {
    columns.push_back({core, read_core(templates, core.core), {}, {}});
  }
  const Dialect dialect = only(read_dialect(templates), "elf");
  size_t before = 0;
  for (const Variant& variant : shipped(isas)) add_cases(variant, before++, dialect, columns);
  for (Column& column : columns) {
    EXPECT_FALSE(column.cases.empty()) << column.mca.core;
    run_mca(LLVM_MCA, column.mca, column.loops);
    for (size_t i = 0; i < column.cases.size(); ++i) {
      EXPECT_TRUE(report(column.cases[i], column.loops[i], column.mca))
          << column.cases[i].kernel << ", " << column.mca.core;
    }
  }
  fmt::print("* with what llvm-mca is known to be wrong about: tests/explain_mca/cores.yaml\n");
}

}  // namespace
}  // namespace tw::test
