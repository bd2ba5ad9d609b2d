// Compiles every generated intrinsics kernel with every compiler, looks for vectors that the hot
// loop keeps on the stack, and compares with what the registry's row says. Prints one table.
//
//   spill_lint          at both levels of optimization, as rows say it
//   spill_lint -O3      at this one only: rows that say "none" have none, others may have some
#include <algorithm>
#include <cstdio>
#include <exception>
#include <future>
#include <map>
#include <set>

#include "spill/compile.h"
#include "tilewright/registry.h"

namespace tw::spill {
namespace {

using Levels = std::vector<std::string>;
const Levels kLevels = {"-O2", "-O3"};

/// What one compiler made of one kernel, at each level; empty where it is for another target.
struct Result {
  std::vector<std::optional<HotLoops>> levels;
  std::string error;
  [[nodiscard]] bool has_content() const { return !levels.empty() && levels[0].has_value(); }
  [[nodiscard]] bool spills() const {
    return std::any_of(levels.begin(), levels.end(),
                       [](const auto& loops) { return loops.has_value() && loops->spills(); });
  }
};

/// Compiled at a time: reading headers of intrinsics takes several times as long as one kernel.
constexpr size_t kBatch = 16;

Function function_of(const tw_kernel& kernel) {
  return {std::string(TILEWRIGHT_SOURCE_DIR "/generated/") + kernel.symbol + ".c", kernel.symbol};
}

/// All kernels by one compiler. An error of a batch is one of each of its kernels.
std::vector<Result> compile(const std::vector<const tw_kernel*>& kernels, const Compiler& compiler,
                            const Levels& levels) {
  std::vector<Result> results(kernels.size());
  for (size_t begin = 0; begin < kernels.size(); begin += kBatch) {
    const size_t end = std::min(begin + kBatch, kernels.size());
    std::vector<Function> functions;
    for (size_t i = begin; i < end; ++i) functions.push_back(function_of(*kernels[i]));
    for (const std::string& level : levels) {
      const std::vector<Examined> found = compile_and_examine(compiler, level, functions);
      for (size_t i = begin; i < end; ++i) {
        results[i].levels.push_back(found[i - begin].loops);
        if (!found[i - begin].error.empty()) results[i].error = found[i - begin].error;
      }
    }
  }
  return results;
}

void print(const Compiler& compiler, const Result& result) {
  std::printf("  %-8s %-6s", compiler.target.c_str(), compiler.name.c_str());
  for (const std::optional<HotLoops>& loops : result.levels) {
    if (!loops) continue;
    std::printf("  %4d insts %3d muls %3d stores %3d loads", loops->instructions, loops->multiplies,
                loops->stores, loops->loads);
  }
  std::printf("  %s\n", !result.error.empty() ? result.error.c_str()
                        : result.spills()     ? "spills"
                                              : "free");
}

std::string joined(const std::set<std::string>& names) {
  std::string text;
  for (const char* name : {"gcc", "clang"}) {
    if (names.contains(name)) text += (text.empty() ? "" : ", ") + std::string(name);
  }
  return text.empty() ? "none" : text;
}

/// What a row says of the compilers that were found to spill, at all levels or at some.
bool agrees(const std::string& row, const std::set<std::string>& found, bool all_levels) {
  if (all_levels) return joined(found) == row;
  return std::all_of(found.begin(), found.end(),
                     [&](const std::string& name) { return row.find(name) != std::string::npos; });
}

/// Prints the kernel's part of the table. False when something is wrong.
bool check(const tw_kernel& kernel, const std::vector<Compiler>& compilers,
           const std::vector<Result>& results, bool all_levels) {
  std::printf("%s\n", kernel.name);
  std::map<std::string, std::set<bool>> content;  // by target: compilers must agree
  std::set<std::string> spilling;
  bool right = true;
  bool anywhere = false;
  for (size_t i = 0; i < compilers.size(); ++i) {
    right = right && results[i].error.empty();
    if (results[i].spills()) spilling.insert(compilers[i].name);
    content[compilers[i].target].insert(results[i].has_content());
    anywhere = anywhere || results[i].has_content();
    if (results[i].has_content() || !results[i].error.empty()) print(compilers[i], results[i]);
  }
  if (!right) return false;
  if (!anywhere) std::printf("  WRONG: no code for any target\n");
  for (const auto& [target, has] : content) {
    if (has.size() == 1) continue;
    std::printf("  WRONG: code for %s by one compiler only\n", target.c_str());
    right = false;
  }
  if (anywhere && !agrees(kernel.spills, spilling, all_levels)) {
    std::printf("  WRONG: its registry row says spills: %s, found: %s; correct %s\n", kernel.spills,
                joined(spilling).c_str(), kernel.spec);
    right = false;
  }
  return right && anywhere;
}

int lint(const Levels& levels) {
  const std::vector<Compiler> all = compilers();
  std::vector<const tw_kernel*> kernels;
  std::set<std::string> seen;
  const auto add = [&](const tw_kernel& kernel) {
    if (std::string(kernel.printer) != "intrinsics") return;
    if (seen.insert(kernel.symbol).second) kernels.push_back(&kernel);
  };
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) add(tw_generated_kernels[i]);
  for (size_t i = 0; i < tw_generated_depthwise_kernel_count; ++i) {
    add(tw_generated_depthwise_kernels[i].kernel);
  }
  for (size_t i = 0; i < tw_generated_attention_kernel_count; ++i) {
    add(tw_generated_attention_kernels[i].kernel);
  }
  // Those that are compiled together need the same header of intrinsics, or none.
  std::stable_sort(kernels.begin(), kernels.end(), [](const tw_kernel* a, const tw_kernel* b) {
    return std::string(a->isa) < b->isa;
  });
  std::printf(
      "Hot loops of compiled intrinsics: instructions, multiplications, vector stores to "
      "and loads from the\nstack; for each of");
  for (const std::string& level : levels) std::printf(" %s", level.c_str());
  std::printf("\n");
  // A thread for each compiler: the commands take all the time.
  std::vector<std::future<std::vector<Result>>> columns;
  for (const Compiler& compiler : all) {
    columns.push_back(std::async(std::launch::async, [&kernels, &levels, &compiler] {
      return compile(kernels, compiler, levels);
    }));
  }
  std::vector<std::vector<Result>> by_compiler;
  for (auto& column : columns) by_compiler.push_back(column.get());
  int wrong = 0;
  for (size_t k = 0; k < kernels.size(); ++k) {
    std::vector<Result> results;
    for (const std::vector<Result>& column : by_compiler) results.push_back(column[k]);
    if (!check(*kernels[k], all, results, levels == kLevels)) ++wrong;
  }
  std::printf("%zu kernels, %zu compilers, %d wrong\n", kernels.size(), all.size(), wrong);
  return wrong == 0 && !kernels.empty() ? 0 : 1;
}

}  // namespace
}  // namespace tw::spill

int main(int argc, char** argv) {
  try {
    return tw::spill::lint(argc > 1 ? tw::spill::Levels{argv + 1, argv + argc}
                                    : tw::spill::kLevels);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
