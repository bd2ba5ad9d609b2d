// Products that operations on vectors and on rows of tiles share.
#pragma once

#include <cmath>

#include "ir/meaning_forms.h"

namespace tw {

/// a * b + c, rounded once.
inline float fused(float a, float b, float c) {
  return std::fma(a, b, c);
}

/// sum + the products of two neighbors of bf16, the first in the low half, as x86's AVX512-BF16 and
/// as AArch64 without EBF16 add them.
float dot2_fused(float sum, uint32_t a, uint32_t b);
float dot2_to_odd(float sum, uint32_t a, uint32_t b);
/// Sums of the products of all first and of all second neighbors, as x86's AMX adds them.
struct Halves {
  float first = 0, second = 0;
};
void add_products(Halves& sums, uint32_t a, uint32_t b);
/// tile + (first + second)
float add_halves_flushed(float tile, const Halves& sums);
/// The same of f16, both products in one rounding, as AArch64's SME adds them.
float dot2_halves(float sum, uint32_t a, uint32_t b);

/// a * b + c of f16, rounded once.
uint16_t fused_halves(uint16_t a, uint16_t b, uint16_t c);

/// Sums of the products of all B and C in each 32-bit lane of a; `c_lane` says which lane of c goes
/// with a lane. `to` may be `a`.
template <typename B, typename C, typename F>
void dot_lanes(size_t bytes, const uint8_t* a, const uint8_t* b, const uint8_t* c, uint8_t* to,
               F&& c_lane) {
  constexpr size_t products = 4 / sizeof(B);
  for (size_t i = 0; i < bytes / 4; ++i) {
    auto sum = get<uint32_t>(a, i);
    for (size_t j = 0; j < products; ++j) {
      const int x = get<B>(b, products * i + j);
      const int y = get<C>(c, products * c_lane(i) + j);
      sum += static_cast<uint32_t>(x * y);
    }
    put(to, i, sum);
  }
}

/// The lane that a lane is multiplied with: itself.
inline size_t same_lane(size_t lane) {
  return lane;
}

/// Lane #number of the segment that a lane is in.
inline auto lane_of_segment(int64_t number) {
  return [number](size_t lane) { return lane / 4 * 4 + static_cast<size_t>(number); };
}

}  // namespace tw
