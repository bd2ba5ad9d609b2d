// How long a kernel takes, from what others took: a sum of terms whose coefficients are fitted to
// records, for each ISA by itself.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "tuner/rungs.h"

namespace tw::tuner {

/// What the terms need to know of a kernel, with the vectors of one kind of core.
struct KernelFacts {
  std::string isa;
  double tile_m = 1, tile_n = 1;
  double macs_per_cycle = 1;  ///< as predicted for the core that it is scheduled for
  double weight_bits = 0;     ///< of a packed weight, with its part of its block's scales
};
/// By a kernel's name; nullopt: not known.
using FactsOf =
    std::function<std::optional<KernelFacts>(const std::string& kernel, const Core& core)>;

/// Nanoseconds for each: cycle of whole tiles at the predicted rate, tile, byte of weights that a
/// row of tiles reads, byte of weights from memory, value of the activations that is packed.
inline constexpr size_t kTerms = 5;
using Terms = std::array<double, kTerms>;
Terms terms_of(const KernelFacts& kernel, const Problem& problem, Regime regime);

struct Measured {
  Terms terms = {};
  double ns = 0;
};

inline constexpr size_t kLeastMeasured = 12;  ///< fewer do not determine a model

/// Coefficients, none negative, by least squares of the logarithm of predicted / measured, in which
/// what lies far off counts by its distance only. Terms that no measurement has keep the built-in
/// rates. nullopt: fewer than kLeastMeasured.
std::optional<Terms> fit(const std::vector<Measured>& measured);

class CostModel {
 public:
  /// For each ISA from kernels on cores of this type; where those are too few, on all.
  CostModel(const std::vector<const KnownCell*>& cells, const Core& core, const FactsOf& facts_of);
  /// nullopt: too few records of the kernel's ISA.
  [[nodiscard]] std::optional<double> ns(const KernelFacts& kernel, const Problem& problem,
                                         Regime regime) const;

 private:
  std::map<std::string, Terms> by_isa_;
};

}  // namespace tw::tuner
