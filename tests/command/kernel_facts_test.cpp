// What specs and the registry say of kernels is the same.
#include "command/kernel_facts.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "support/environment.h"
#include "tuner/plans.h"

namespace tw {
namespace {

std::vector<SpecInput> shipped_specs() {
  const std::filesystem::path folder = TILEWRIGHT_SOURCE_DIR "/specs";
  std::vector<SpecInput> specs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() == ".yaml")
      specs.push_back({entry.path(), entry.path().filename()});
  }
  return specs;
}

/// Whether two facts of it stand together for the first time (with sanitizers: whether a fact
/// stands there for the first time; with --long, every kernel).
bool is_of_new_kind(const tw_kernel& kernel, std::set<std::pair<std::string, std::string>>& seen) {
  const std::string facts[] = {kernel.family, kernel.isa, kernel.printer, kernel.technique,
                               kernel.core};
  bool is_new = test::is_long();
  for (const std::string& a : facts) {
    for (const std::string& b : facts) {
      if (test::is_sanitized && a != b) continue;
      is_new = seen.emplace(a, b).second || is_new;
    }
  }
  return is_new;
}

TEST(KernelFacts, OfSpecsAreThoseOfTheRegistry) {
  const tuner::FactsOf facts_of =
      facts_from_specs(shipped_specs(), TILEWRIGHT_SOURCE_DIR "/templates");
  tuner::Core core;
  core.vector = 32;
  core.streaming = 64;
  std::vector<const tw_kernel*> kernels(tw_list_kernels(nullptr, nullptr, 0));
  tw_list_kernels(nullptr, kernels.data(), kernels.size());
  ASSERT_GT(kernels.size(), 100U);
  std::set<std::pair<std::string, std::string>> seen;
  size_t compared = 0;
  for (const tw_kernel* kernel : kernels) {
    if (!is_of_new_kind(*kernel, seen)) continue;
    ++compared;
    const auto by_spec = facts_of(kernel->name, core);
    const auto by_row = tuner::registry_facts(kernel->name, core);
    ASSERT_TRUE(by_spec && by_row) << kernel->name;
    EXPECT_EQ(by_spec->isa, by_row->isa) << kernel->name;
    EXPECT_EQ(by_spec->tile_m, by_row->tile_m) << kernel->name;
    EXPECT_EQ(by_spec->tile_n, by_row->tile_n) << kernel->name;
    // A row has one decimal.
    const double rounded = std::max(0.051, 0.01 * by_row->macs_per_cycle);
    EXPECT_NEAR(by_spec->macs_per_cycle, by_row->macs_per_cycle, rounded) << kernel->name;
    EXPECT_NEAR(by_spec->weight_bits, by_row->weight_bits, 0.01) << kernel->name;
  }
  EXPECT_GT(compared, test::is_sanitized ? 30U : 50U);
}

TEST(KernelFacts, WhatNobodyHasIsUnknown) {
  const tuner::FactsOf facts_of =
      facts_from_specs(shipped_specs(), TILEWRIGHT_SOURCE_DIR "/templates");
  EXPECT_FALSE(facts_of("no_such", {}));
  EXPECT_FALSE(tuner::registry_facts("no_such", {}));
  const auto has_vectors = [](const tw_kernel* kernel) { return kernel->tile_n_scalable != 0; };
  std::vector<const tw_kernel*> kernels(tw_list_kernels(nullptr, nullptr, 0));
  tw_list_kernels(nullptr, kernels.data(), kernels.size());
  const auto scalable = std::find_if(kernels.begin(), kernels.end(), has_vectors);
  ASSERT_NE(scalable, kernels.end());
  EXPECT_FALSE(facts_of((*scalable)->name, {}));  // a core without such vectors
  EXPECT_FALSE(tuner::registry_facts((*scalable)->name, {}));
}

}  // namespace
}  // namespace tw
