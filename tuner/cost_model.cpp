#include "tuner/cost_model.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "tuner/median.h"
#include "tuner/pipes.h"

namespace tw::tuner {
namespace {

/// What the plan takes for granted, at 3 GHz: a cycle is a cycle, 30 to fill and drain a tile, 8
/// bytes a cycle from memory; 64 from the caches, two cycles a value that is packed.
constexpr Terms kBuiltIn = {1 / 3.0, 10, 1 / 192.0, 1 / 24.0, 2 / 3.0};

using Matrix = std::array<Terms, kTerms>;

double predicted(const Terms& coefficients, const Terms& terms) {
  return std::inner_product(terms.begin(), terms.end(), coefficients.begin(), 0.0);
}

/// a x = b by elimination; a is symmetric and positive definite.
Terms solve(Matrix a, Terms b) {
  for (size_t i = 0; i < kTerms; ++i) {
    for (size_t row = i + 1; row < kTerms; ++row) {
      const double factor = a[row][i] / a[i][i];
      for (size_t column = i; column < kTerms; ++column) a[row][column] -= factor * a[i][column];
      b[row] -= factor * b[i];
    }
  }
  for (size_t i = kTerms; i-- > 0;) {
    for (size_t column = i + 1; column < kTerms; ++column) b[i] -= a[i][column] * b[column];
    b[i] /= a[i][i];
  }
  return b;
}

/// One step of Gauss and Newton for the logarithms of the coefficients, so that these stay above 0.
Terms step(const std::vector<Measured>& measured, const Terms& start, const Terms& coefficients) {
  constexpr double far = 0.1;     // of a logarithm: beyond it a measurement pulls no stronger
  constexpr double prior = 1e-3;  // weight of the start, for what measurements do not tell
  Matrix normal = {};
  Terms slope = {};
  for (size_t i = 0; i < kTerms; ++i) {
    normal[i][i] = prior;
    slope[i] = prior * std::log(start[i] / coefficients[i]);
  }
  for (const Measured& one : measured) {
    const double ns = predicted(coefficients, one.terms);
    const double error = std::log(one.ns / ns);
    const double weight = far / std::max(std::abs(error), far);
    Terms share = {};
    for (size_t i = 0; i < kTerms; ++i) share[i] = coefficients[i] * one.terms[i] / ns;
    for (size_t i = 0; i < kTerms; ++i) {
      slope[i] += weight * share[i] * error;
      for (size_t j = 0; j < kTerms; ++j) normal[i][j] += weight * share[i] * share[j];
    }
  }
  return solve(normal, slope);
}

/// The built-in rates of a core that is as many times faster.
Terms scaled_start(const std::vector<Measured>& measured) {
  std::vector<double> slower;
  slower.reserve(measured.size());
  for (const Measured& one : measured) slower.push_back(one.ns / predicted(kBuiltIn, one.terms));
  Terms start = kBuiltIn;
  for (double& coefficient : start) coefficient *= median(slower);
  return start;
}

}  // namespace

Terms terms_of(const KernelFacts& kernel, const Problem& problem, Regime regime) {
  const auto n = static_cast<double>(problem.n), k = static_cast<double>(problem.k),
             m = static_cast<double>(problem.m);
  const double columns = std::ceil(n / kernel.tile_n), tile_rows = std::ceil(m / kernel.tile_m);
  // Rows left over go to kernels that they fit; fewer than one tile cost a whole one.
  const double rows = std::max(m, kernel.tile_m);
  const double bytes = n * k * kernel.weight_bits / 8;
  return {rows * columns * kernel.tile_n * k / kernel.macs_per_cycle, tile_rows * columns,
          bytes * tile_rows, regime == Regime::streamed ? bytes : 0, m * k};
}

std::optional<Terms> fit(const std::vector<Measured>& measured) {
  constexpr int steps = 100;
  constexpr double longest = 0.5;  // of a logarithm in one step
  if (measured.size() < kLeastMeasured) return std::nullopt;
  const Terms start = scaled_start(measured);
  Terms coefficients = start;
  for (int i = 0; i < steps; ++i) {
    const Terms change = step(measured, start, coefficients);
    for (size_t t = 0; t < kTerms; ++t) {
      coefficients[t] *= std::exp(std::clamp(change[t], -longest, longest));
    }
  }
  return coefficients;
}

CostModel::CostModel(const std::vector<const KnownCell*>& cells, const Core& core,
                     const FactsOf& facts_of) {
  std::map<std::string, std::vector<Measured>> on_type, on_all;
  for (const KnownCell* cell : cells) {
    const bool alike = same_type(cell->core, core) || cell->core_id == identity(core);
    for (const auto& [kernel, evidence] : planned_settings(cell->evidence)) {
      const std::optional<KernelFacts> facts = facts_of(kernel, cell->core);
      if (!facts) continue;
      const Measured one{terms_of(*facts, cell->problem, cell->regime),
                         cell->evidence.baseline_ns / std::exp(evidence->faster.log)};
      if (!std::isnormal(one.ns) || !std::isfinite(predicted(kBuiltIn, one.terms))) continue;
      on_all[facts->isa].push_back(one);
      if (alike) on_type[facts->isa].push_back(one);
    }
  }
  for (const auto& [isa, measured] : on_all) {
    std::optional<Terms> fitted = fit(on_type[isa]);
    if (!fitted) fitted = fit(measured);
    if (fitted) by_isa_[isa] = *fitted;
  }
}

std::optional<double> CostModel::ns(const KernelFacts& kernel, const Problem& problem,
                                    Regime regime) const {
  const auto found = by_isa_.find(kernel.isa);
  if (found == by_isa_.end()) return std::nullopt;
  return predicted(found->second, terms_of(kernel, problem, regime));
}

}  // namespace tw::tuner
