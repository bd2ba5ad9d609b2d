// What stands between the products of a layer: plain loops, which compilers vectorize.
#pragma once

#include <cstddef>
#include <vector>

namespace tw::gemma {

constexpr float kEpsilon = 1e-6F;  ///< of rms_norm
constexpr double kRopeBase = 10000;

/// out = x / its root mean square * gain.
void rms_norm(const float* x, const float* gain, size_t width, float* out);

/// Cosines and sines of a position's angles, half a head of each.
struct Angles {
  Angles(size_t positions, size_t head);
  size_t half;
  std::vector<float> cosines, sines;
};
/// Turns the pairs (i, i + half) of a head.
void rotate(float* head, const Angles& angles, size_t position);

/// up *= gelu(gate), in the tanh form.
void gelu_times(const float* gate, float* up, size_t count);

void add(const float* from, float* to, size_t count);

/// Toward the nearest, of numbers that f16 has.
void to_f16(const float* from, unsigned short* to, size_t count);

}  // namespace tw::gemma
