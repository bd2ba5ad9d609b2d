// Products and sums that are rounded once.
#pragma once

#ifdef __MINGW32__
#include "tilewright/kernel.h"
#else
#include <cmath>
#endif

namespace tw::test {

/// a * b + c. MinGW's library rounds twice; elsewhere tests compare what ships with the library.
inline float fused(float a, float b, float c) {
#ifdef __MINGW32__
  return tw_fma_f32(a, b, c);
#else
  return std::fma(a, b, c);
#endif
}

}  // namespace tw::test
