// A registry for the runtime's tests: rows of several ISAs whose functions are plain C++ and run
// anywhere. They stand in for the generated rows (tw_generated_kernels ...), so that the public
// API works on them too.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "internal.h"

namespace tw::test {

inline constexpr const char* kFamily = "matmul_clamp_f32_qai8dxp_qsi4cxp";
inline constexpr const char* kOtherFamily = "matmul_clamp_f32_f32p_f32p";  ///< nothing built
/// Blocks of 32 with scales of f16, of 64 with bf16 and f32; its functions compute nothing.
inline constexpr const char* kBlockFamily = "matmul_clamp_f32_qsi8d32p_qsi4c32p";

/// What a fake kernel was asked for.
struct Call {
  const tw_kernel* kernel;
  size_t m, n, rhs_prefetch;
  uint64_t flags;
};
/// Calls of all kernels since the last clear; single-threaded tests only.
std::vector<Call>& calls();

/// What the packers of blocks were asked for, likewise.
std::vector<tw_pack_args>& pack_calls();

tw_registry fake_registry();
const tw_kernel& fake_kernel(const std::string& name);

inline constexpr tw_features kAvx512 =
    TW_FEATURE_AVX512F | TW_FEATURE_AVX512BW | TW_FEATURE_AVX512DQ | TW_FEATURE_AVX512VL;
inline constexpr tw_features kVnni = kAvx512 | TW_FEATURE_AVX512VNNI;
inline constexpr tw_features kAvx2 = TW_FEATURE_AVX2 | TW_FEATURE_FMA;
inline constexpr tw_features kI8mm = TW_FEATURE_NEON | TW_FEATURE_I8MM;
inline constexpr tw_features kDotprod = TW_FEATURE_NEON | TW_FEATURE_DOTPROD;

}  // namespace tw::test
