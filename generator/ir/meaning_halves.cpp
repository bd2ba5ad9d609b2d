// Sums of products of bf16 and f16, which instruction sets round in different ways. A product of
// two has 16 bits, or 22: as a double it is exact.
#include <bit>
#include <cmath>
#include <limits>

#include "ir/meaning_products.h"

namespace tw {
namespace {

constexpr double smallest_normal = 0x1p-126;

float without_denormals(float x) {
  return std::fabs(x) < static_cast<float>(smallest_normal) ? std::copysign(0.0F, x) : x;
}

float first_of(uint32_t pair) {
  return without_denormals(std::bit_cast<float>(pair << 16));
}
float second_of(uint32_t pair) {
  return without_denormals(std::bit_cast<float>(pair & 0xffff0000U));
}

/// The f32 of `x` + (something of the sign of `error`, less than the last bit of x) that is nearer
/// to zero; if that is not the sum itself, with its last bit set. What is less than a normal number
/// is 0, and what is more than the largest, infinite.
float to_odd(double x, double error) {
  if (!std::isfinite(x)) return static_cast<float>(x);
  const double below = error != 0 && (error < 0) != (x < 0) ? std::nextafter(x, 0.0) : x;
  if (std::fabs(below) < smallest_normal) return std::copysign(0.0F, static_cast<float>(x));
  if (std::fabs(below) >= 0x1p128) {
    return std::copysign(std::numeric_limits<float>::infinity(), static_cast<float>(x));
  }
  auto bits = std::bit_cast<uint32_t>(static_cast<float>(below));
  if (std::fabs(std::bit_cast<float>(bits)) > std::fabs(below)) --bits;
  if (error != 0 || std::bit_cast<float>(bits) != below) bits |= 1U;
  return std::bit_cast<float>(bits);
}

/// What the double nearest to x + y, which is `sum`, is short of it (Knuth's two sums).
double error_of(double sum, double x, double y) {
  const double of_y = sum - x;
  return (x - (sum - of_y)) + (y - of_y);
}

float add_to_odd(float a, float b) {
  const double sum = double{a} + double{b};
  return to_odd(sum, error_of(sum, a, b));
}

/// x + y in f32, to nearest. A double that is odd where it is not the sum is never halfway.
float add_to_nearest(double x, double y) {
  const double sum = x + y;
  const double error = error_of(sum, x, y);
  const bool even = (std::bit_cast<uint64_t>(sum) & 1U) == 0;
  if (!std::isfinite(sum) || error == 0 || !even) return static_cast<float>(sum);
  return static_cast<float>(std::nextafter(sum, error < 0 ? -HUGE_VAL : HUGE_VAL));
}

float multiply_to_odd(float a, float b) {
  return to_odd(static_cast<double>(a) * b, 0);
}

double product_of_halves(uint32_t a, uint32_t b) {
  return double{half_to_float(static_cast<uint16_t>(a))} * half_to_float(static_cast<uint16_t>(b));
}

}  // namespace

/// A float that is odd where it is not the sum is never halfway between two of f16.
uint16_t fused_halves(uint16_t a, uint16_t b, uint16_t c) {
  const double product = product_of_halves(a, b);
  const double other = half_to_float(c);
  const double sum = product + other;
  return float_to_half(to_odd(sum, error_of(sum, product, other)));
}

float dot2_halves(float sum, uint32_t a, uint32_t b) {
  return sum + add_to_nearest(product_of_halves(a, b), product_of_halves(a >> 16, b >> 16));
}

float dot2_fused(float sum, uint32_t a, uint32_t b) {
  const float second = fused(second_of(a), second_of(b), without_denormals(sum));
  return without_denormals(fused(first_of(a), first_of(b), without_denormals(second)));
}

void add_products(Halves& sums, uint32_t a, uint32_t b) {
  sums.first = without_denormals(fused(first_of(a), first_of(b), sums.first));
  sums.second = without_denormals(fused(second_of(a), second_of(b), sums.second));
}

float add_halves_flushed(float tile, const Halves& sums) {
  const float both = without_denormals(sums.first + sums.second);
  return without_denormals(without_denormals(tile) + both);
}

float dot2_to_odd(float sum, uint32_t a, uint32_t b) {
  const float first = multiply_to_odd(first_of(a), first_of(b));
  const float second = multiply_to_odd(second_of(a), second_of(b));
  return add_to_odd(without_denormals(sum), add_to_odd(first, second));
}

}  // namespace tw
