// The fitted cost model: what is recovered from made-up records, and what does not ruin it.
#include "tuner/cost_model.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include "choose/log.h"
#include "tuner/plans.h"

namespace tw::tuner {
namespace {

/// Cores unlike the built-in one: reading weights again and again is dear, or multiplying is.
constexpr Terms kTrue = {0.3, 25, 0.05, 0.02, 1.5}, kSlow = {3, 25, 0.05, 0.02, 1.5};

double true_ns(const Terms& terms, const Terms& core = kTrue) {
  double ns = 0;
  for (size_t i = 0; i < kTerms; ++i) ns += core[i] * terms[i];
  return ns;
}

Terms random_terms(std::mt19937& random) {
  const size_t sizes[] = {64, 256, 1024, 4096}, rows[] = {1, 2, 4, 16, 64, 256};
  const double tiles_m[] = {1, 2, 4, 6, 8}, tiles_n[] = {8, 16, 32};
  const KernelFacts kernel{"isa", tiles_m[random() % 5], tiles_n[random() % 3],
                           10.0 + static_cast<double>(random() % 50), 4};
  const Problem problem{"f", sizes[random() % 4], sizes[random() % 4], 0, "", rows[random() % 6]};
  return terms_of(kernel, problem, random() % 2 == 0 ? Regime::hot : Regime::streamed);
}

std::vector<Measured> made_up(std::mt19937& random, size_t count, double noise) {
  std::normal_distribution<double> error(0, noise);
  std::vector<Measured> measured(count);
  for (Measured& one : measured) {
    one.terms = random_terms(random);
    one.ns = true_ns(one.terms) * std::exp(noise > 0 ? error(random) : 0);
  }
  return measured;
}

/// Of predictions for what was not measured, as a logarithm.
double largest_error(const Terms& coefficients) {
  std::mt19937 random(99);
  double largest = 0;
  for (int i = 0; i < 300; ++i) {
    const Terms terms = random_terms(random);
    double ns = 0;
    for (size_t t = 0; t < kTerms; ++t) ns += coefficients[t] * terms[t];
    largest = std::max(largest, std::abs(std::log(ns / true_ns(terms))));
  }
  return largest;
}

TEST(CostModel, TermsCountTilesAndWhatTheyRead) {
  const KernelFacts kernel{"isa", 4, 16, 32, 4.5};
  const Problem problem{"f", 40, 100, 0, "", 6};
  // 6 rows x 3 tiles of 16 columns x 100 at 32 a cycle; 2 x 3 tiles; 40 x 100 weights of 4.5 bits,
  // twice.
  const Terms streamed = {6 * 48 * 100 / 32.0, 6, 4500, 2250, 600};
  EXPECT_EQ(terms_of(kernel, problem, Regime::streamed), streamed);
  EXPECT_EQ(terms_of(kernel, problem, Regime::hot)[3], 0);
  const Problem few{"f", 40, 100, 0, "", 1};
  EXPECT_EQ(terms_of(kernel, few, Regime::hot)[0], 4 * 48 * 100 / 32.0);  // a whole tile
}

TEST(CostModel, AKnownModelIsRecovered) {
  std::mt19937 random(1);
  const std::optional<Terms> exact = fit(made_up(random, 60, 0));
  ASSERT_TRUE(exact);
  for (size_t i = 0; i < kTerms; ++i) EXPECT_NEAR((*exact)[i] / kTrue[i], 1, 0.03) << i;
  EXPECT_LT(largest_error(*exact), 0.01);
  const std::optional<Terms> noisy = fit(made_up(random, 200, 0.05));
  ASSERT_TRUE(noisy);
  EXPECT_LT(largest_error(*noisy), 0.08);
}

TEST(CostModel, TooFewMakeNone) {
  std::mt19937 random(2);
  EXPECT_FALSE(fit(made_up(random, kLeastMeasured - 1, 0)));
  EXPECT_TRUE(fit(made_up(random, kLeastMeasured, 0)));
}

TEST(CostModel, WildOutliersDoNotRuinIt) {
  for (const double wrong : {1e-9, 1e-3, 10.0, 1e6}) {
    std::mt19937 random(3);
    std::vector<Measured> measured = made_up(random, 60, 0.02);
    for (const size_t i : {5, 30}) measured[i].ns *= wrong;
    const std::optional<Terms> fitted = fit(measured);
    ASSERT_TRUE(fitted);
    EXPECT_LT(largest_error(*fitted), 0.15) << wrong;
  }
}

TEST(CostModel, WhatWasNotMeasuredKeepsTheBuiltInRates) {
  std::mt19937 random(4);
  std::vector<Measured> hot = made_up(random, 40, 0.02);
  for (Measured& one : hot) {
    one.terms[3] = 0;
    one.ns = true_ns(one.terms);
  }
  const std::optional<Terms> fitted = fit(hot);
  ASSERT_TRUE(fitted);
  for (const double coefficient : *fitted) EXPECT_GE(coefficient, 0);
  EXPECT_GT((*fitted)[3], 0.005);  // 8 bytes a cycle of 3 GHz are 0.042
  EXPECT_LT((*fitted)[3], 0.5);
}

TEST(CostModel, OrderDoesNotMatter) {
  std::mt19937 random(5);
  std::vector<Measured> measured = made_up(random, 50, 0.1);
  const Terms first = *fit(measured);
  std::shuffle(measured.begin(), measured.end(), random);
  const Terms again = *fit(measured);
  for (size_t i = 0; i < kTerms; ++i) EXPECT_NEAR(again[i] / first[i], 1, 1e-9);
}

/// Records of kernels with 1, 4, 16 and 64 rows of two matrices, as that core takes.
void add_made_up(Log& log, const std::vector<const char*>& kernels) {
  for (const size_t n : {512, 4096}) {
    for (const size_t m : {1, 4, 16, 64}) {
      double baseline = 0;
      for (const char* kernel : kernels) {
        Record r = log.blank(kernel, m);
        r.problem.n = n;
        const double ns =
            true_ns(terms_of(*registry_facts(kernel, log.core), r.problem, r.regime), kSlow);
        if (kernel == kernels[0]) {
          baseline = ns;
          r.ns = {ns, ns, ns, {}};
        } else {
          r.ratio = {baseline / ns, baseline / ns * 0.99, baseline / ns * 1.01, 20};
          r.baseline = identity(configuration(kernels[0]));
        }
        log.records.push_back(r);
      }
    }
  }
}

// With two rows the built-in model takes a tile of four, which reads the weights once; where
// multiplying is dear, twice one row is less.
TEST(Choose, ByTheFittedModelWhereNothingNearerIsKnown) {
  const tw_device device = test::zen4();
  Log log(device);
  const auto chosen = [&] {
    const Choice choice = choose(log.records, device, log.core, wanted({{2, 1}}));
    return std::string(name(choice.rows[0].rung)) + ": " + choice.rows[0].run.kernel;
  };
  EXPECT_EQ(chosen(), "cost model: vnni_4x32");
  add_made_up(log, {"vnni_8x32", "vnni_4x32", "vnni_1x32"});
  EXPECT_EQ(chosen(), "fitted model: vnni_1x32");
  const Choice choice = choose(log.records, device, log.core, wanted({{2, 1}}));
  const Problem problem{test::kFamily, kN, kK, 0, "", 2};
  const auto ns = [&](const char* kernel) {
    return true_ns(terms_of(*registry_facts(kernel, log.core), problem, Regime::streamed), kSlow);
  };
  EXPECT_NEAR(choice.rows[0].ns / ns("vnni_1x32"), 1, 0.05);
  EXPECT_NEAR(choice.rows[0].baseline_ns / ns("vnni_4x32"), 1, 0.05);
  // A plan takes it.
  ASSERT_EQ(settings_of(choice).size(), 1U);
  EXPECT_STREQ(settings_of(choice)[0].kernel, "vnni_1x32");
  // Nearer records go first.
  log.baseline("vnni_4x32", 2);
  log.records.back().problem.n = 64;
  EXPECT_EQ(chosen(), "same core: vnni_4x32");
  // Other kinds of cores do where this one has none.
  log.records.pop_back();
  for (Record& r : log.records) r.core.family += 1;
  EXPECT_EQ(chosen(), "fitted model: vnni_1x32");
  log.records.resize(kLeastMeasured - 1);
  EXPECT_EQ(chosen(), "cost model: vnni_4x32");
}

TEST(Choose, TheFittedModelTakesOnlyWhatMayRun) {
  tw_device device = test::zen4();
  Log log(device);
  add_made_up(log, {"vnni_8x32", "vnni_4x32", "vnni_1x32"});
  Record failed = log.blank("vnni_1x32", 1);
  failed.outcome = Outcome::crash;
  std::vector<Record> with_failure = log.records;
  with_failure.push_back(failed);
  const auto chosen = [&](const std::vector<Record>& records) {
    return choose(records, device, log.core, wanted({{2, 1}})).rows[0].run.kernel;
  };
  EXPECT_EQ(chosen(log.records), "vnni_1x32");
  EXPECT_NE(chosen(with_failure), "vnni_1x32");
  ASSERT_EQ(tw_device_limit(&device, "avx2"), TW_OK);
  EXPECT_EQ(chosen(log.records), "avx2_4x16");
}

// What is scheduled for other cores looks faster than it is on these.
TEST(Choose, TheFittedModelTakesNoKernelsForUnlikeCores) {
  const tw_device device = test::phone("A510", {test::kMidrA510});
  Log log(device);
  add_made_up(log, {"i8mm_8x8_little", "i8mm_1x16_little"});
  const Choice choice = choose(log.records, device, log.core, wanted({{8, 1}}));
  EXPECT_EQ(choice.rows[0].rung, Rung::fitted);
  EXPECT_EQ(choice.rows[0].run.kernel, "i8mm_8x8_little");
}

}  // namespace
}  // namespace tw::tuner
