// A count, length or offset that may depend on a vector length known only at run time.
#pragma once

#include <cstdint>
#include <string>

namespace tw {

/// The two run-time vector lengths, each in units of 16 bytes (128 bits).
/// Fixed-width ISAs (x86, NEON) never look at them.
struct VectorLength {
  int64_t vl = 1;   ///< ordinary vectors (SVE: VL / 128 bits)
  int64_t svl = 1;  ///< streaming vectors (SME: SVL / 128 bits)
};

/// fixed + vl * (vector length / 16 bytes) + svl * (streaming vector length / 16 bytes).
/// The unit (bytes, lanes, columns) is the user's. Linear on purpose: every layout and every
/// offset in a kernel is linear in the vector length.
struct Length {
  int64_t fixed = 0;
  int64_t vl = 0;
  int64_t svl = 0;

  constexpr Length() = default;
  constexpr Length(int64_t f) : fixed(f) {}  // NOLINT: a plain number is a length
  constexpr Length(int64_t f, int64_t v, int64_t s = 0) : fixed(f), vl(v), svl(s) {}

  [[nodiscard]] constexpr int64_t at(VectorLength n) const {
    return fixed + vl * n.vl + svl * n.svl;
  }
  [[nodiscard]] constexpr bool is_fixed() const { return vl == 0 && svl == 0; }
  friend constexpr bool operator==(const Length&, const Length&) = default;
  friend constexpr Length operator+(Length a, Length b) {
    return {a.fixed + b.fixed, a.vl + b.vl, a.svl + b.svl};
  }
  friend constexpr Length operator-(Length a, Length b) {
    return {a.fixed - b.fixed, a.vl - b.vl, a.svl - b.svl};
  }
  friend constexpr Length operator*(Length a, int64_t n) {
    return {a.fixed * n, a.vl * n, a.svl * n};
  }
  Length& operator+=(Length b) { return *this = *this + b; }

  [[nodiscard]] constexpr bool divisible(int64_t n) const {
    return fixed % n == 0 && vl % n == 0 && svl % n == 0;
  }
  /// Exact division; ask divisible() first.
  [[nodiscard]] constexpr Length divided(int64_t n) const { return {fixed / n, vl / n, svl / n}; }
};

/// "64", "4vl", "16+4vl": as specs write it and people read it.
std::string to_string(Length length);

/// How many times `part` goes into `whole`, when that is the same number at every vector length
/// (16vl / 4vl = 4, 32 / 16 = 2); -1 when it is not a whole number.
int64_t ratio(Length whole, Length part);

}  // namespace tw
