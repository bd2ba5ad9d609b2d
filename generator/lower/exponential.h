// e to the power of f32 vectors.
#pragma once

#include "ir/builder.h"

namespace tw {

/// e^x for x up to 0: within 2 units in the last place of the exact value where that is at least
/// 2^-126, exactly 0 for x below -88, minus infinity included, and a NaN for a NaN. Between
/// those lie results of 0 or less than 2^-125.
///
/// x = n ln 2 + r with a whole number n and |r| <= ln 2 / 2 (Cody and Waite: ln 2 in two parts, of
/// which n times the first is exact), e^x = 2^n e^r, and e^r - 1 = r + r^2 q(r) by the polynomial q
/// of degree 4 that agrees with (e^r - 1 - r) / r^2 in the five Chebyshev points of the interval.
class Exponential {
 public:
  /// Makes its constants: outside of loops.
  explicit Exponential(Builder& b);
  Value operator()(Value x) const;

 private:
  Value constant(uint32_t bits) const;

  Builder& b_;
  Value lowest_, log2_e_, whole_, high_, low_;
  std::vector<Value> factors_;  ///< of q, highest power first
};

}  // namespace tw
