// The loops behind machine_limits.h on x86-64. AVX-512 where the CPU has it, else SSE2 reads.
#include <immintrin.h>

#include <cstdint>

#include "measure/machine_limits.h"
#include "tilewright/tilewright.hpp"

namespace tw::measure {
namespace {

// 24 accumulators: more than latency x throughput of any core (4 x 2 on Zen 5).
constexpr int accumulators = 24;
constexpr int accumulators_256 = 12;  // of 16 registers

/// What loads beside multiplies read: of vectors the beginning, of tiles four.
alignas(64) constexpr std::byte lines[4096] = {};

// A load beside every second multiply, to a register that nobody reads.
#define TW_ZMM_LOAD ".if (\\i & 1) == 0\nvmovdqu64 \\i*32(%1), %%zmm24\n.endif\n"
#define TW_YMM_LOAD ".if (\\i & 1) == 0\nvmovdqu \\i*16(%1), %%ymm12\n.endif\n"

#define TW_ZMM_LOOP(function, target_features, multiply, load)                                  \
  __attribute__((target(target_features))) void function(long iterations) {                     \
    asm volatile(                                                                               \
        ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,30,31\n"         \
        "vpxord %%zmm\\i, %%zmm\\i, %%zmm\\i\n"                                                 \
        ".endr\n"                                                                               \
        ".p2align 6\n"                                                                          \
        "1:\n"                                                                                  \
        ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n" load multiply \
        " %%zmm31, %%zmm30, %%zmm\\i\n"                                                         \
        ".endr\n"                                                                               \
        "dec %0\n"                                                                              \
        "jnz 1b\n"                                                                              \
        "vzeroupper\n"                                                                          \
        : "+r"(iterations)                                                                      \
        : "r"(lines)                                                                            \
        : "cc", "zmm0", "zmm1", "zmm2", "zmm3", "zmm4", "zmm5", "zmm6", "zmm7", "zmm8", "zmm9", \
          "zmm10", "zmm11", "zmm12", "zmm13", "zmm14", "zmm15", "zmm16", "zmm17", "zmm18",      \
          "zmm19", "zmm20", "zmm21", "zmm22", "zmm23", "zmm24", "zmm30", "zmm31");              \
  }

#define TW_YMM_LOOP(function, target_features, multiply, load)                                  \
  __attribute__((target(target_features))) void function(long iterations) {                     \
    asm volatile(                                                                               \
        ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,14,15\n"                                             \
        "vpxor %%ymm\\i, %%ymm\\i, %%ymm\\i\n"                                                  \
        ".endr\n"                                                                               \
        ".p2align 6\n"                                                                          \
        "1:\n"                                                                                  \
        ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11\n" load multiply                                     \
        "\n"                                                                                    \
        ".endr\n"                                                                               \
        "dec %0\n"                                                                              \
        "jnz 1b\n"                                                                              \
        "vzeroupper\n"                                                                          \
        : "+r"(iterations)                                                                      \
        : "r"(lines)                                                                            \
        : "cc", "ymm0", "ymm1", "ymm2", "ymm3", "ymm4", "ymm5", "ymm6", "ymm7", "ymm8", "ymm9", \
          "ymm10", "ymm11", "ymm12", "ymm13", "ymm14", "ymm15");                                \
  }

// Each of them alone, and with loads.
#define TW_ZMM_LOOPS(function, target_features, multiply) \
  TW_ZMM_LOOP(function, target_features, multiply, "")    \
  TW_ZMM_LOOP(function##_loaded, target_features, multiply, TW_ZMM_LOAD)
#define TW_YMM_LOOPS(function, target_features, multiply) \
  TW_YMM_LOOP(function, target_features, multiply, "")    \
  TW_YMM_LOOP(function##_loaded, target_features, multiply, TW_YMM_LOAD)

TW_ZMM_LOOPS(run_vpdpbusd, "avx512f,avx512vnni", "vpdpbusd")
TW_ZMM_LOOPS(run_vdpbf16ps, "avx512f,avx512bf16", "vdpbf16ps")
TW_ZMM_LOOPS(run_fma, "avx512f", "vfmadd231ps")
TW_YMM_LOOPS(run_vpdpbusd_256, "avx2", "%{vex%} vpdpbusd %%ymm15, %%ymm14, %%ymm\\i")
TW_YMM_LOOPS(run_fma_256, "avx2", "vfmadd231ps %%ymm15, %%ymm14, %%ymm\\i")

// Products of neighbors and their sums: what integers cost without a dot product.
#define TW_PRODUCT(multiply, add) \
  multiply " %%ymm15, %%ymm14, %%ymm13\n" add " %%ymm13, %%ymm\\i, %%ymm\\i"
TW_YMM_LOOPS(run_vpmaddubsw, "avx2", TW_PRODUCT("vpmaddubsw", "vpaddw"))
TW_YMM_LOOPS(run_vpmaddwd, "avx2", TW_PRODUCT("vpmaddwd", "vpaddd"))

// Two by two tiles of sums, whose operands are, with loads, read by each of the two products that
// they take part in. Compilers may know no tiles: assemblers do.
#ifdef __clang__
#define TW_TILES __attribute__((target("amx-tile,amx-int8,amx-bf16")))
#else
#define TW_TILES
#endif
#define TW_TILE_LOOP(function, multiply, load)                                            \
  TW_TILES void function(long iterations) {                                               \
    asm volatile(                                                                         \
        "ldtilecfg (%1)\n"                                                                \
        ".irp i, 0,1,2,3,4,5,6,7\n"                                                       \
        "tilezero %%tmm\\i\n"                                                             \
        ".endr\n"                                                                         \
        ".p2align 6\n"                                                                    \
        "1:\n" load(4) load(6) multiply " %%tmm6, %%tmm4, %%tmm0\n" load(7) multiply      \
        " %%tmm7, %%tmm4, %%tmm1\n" load(5) multiply " %%tmm6, %%tmm5, %%tmm2\n" multiply \
                                                     " %%tmm7, %%tmm5, %%tmm3\n"          \
                                                     "dec %0\n"                           \
                                                     "jnz 1b\n"                           \
                                                     "tilerelease\n"                      \
        : "+r"(iterations)                                                                \
        : "r"(&tile_shapes), "r"(lines), "r"(64L)                                         \
        : "cc");                                                                          \
  }
#define TW_TILE_LOAD(tile) "tileloadd 1024*(" #tile "-4)(%2, %3), %%tmm" #tile "\n"
#define TW_NO_LOAD(tile) ""
#define TW_TILE_LOOPS(function, multiply)      \
  TW_TILE_LOOP(function, multiply, TW_NO_LOAD) \
  TW_TILE_LOOP(function##_loaded, multiply, TW_TILE_LOAD)

/// Palette 1: eight tiles of 16 rows of 64 bytes.
struct TileShapes {
  uint8_t palette = 1, start_row = 0, reserved[14] = {};
  uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
  uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
};
constexpr TileShapes tile_shapes;

TW_TILE_LOOPS(run_tdpbsud, "tdpbsud")
TW_TILE_LOOPS(run_tdpbf16ps, "tdpbf16ps")

/// Reads `streams` equal parts of the buffer side by side, prefetching `ahead` bytes (0: not).
template <int streams, int ahead>
__attribute__((target("avx512f"))) long read512(const std::byte* data, size_t bytes) {
  const size_t part = bytes / streams / 128 * 128;
  __m512i sum[2 * streams];
  for (auto& s : sum) s = _mm512_setzero_si512();
  for (size_t i = 0; i < part; i += 128) {
    for (int s = 0; s < streams; ++s) {
      const std::byte* p = data + static_cast<size_t>(s) * part + i;
      if constexpr (ahead > 0) {
        _mm_prefetch(reinterpret_cast<const char*>(p) + ahead, _MM_HINT_T0);
        _mm_prefetch(reinterpret_cast<const char*>(p) + ahead + 64, _MM_HINT_T0);
      }
      sum[2 * s] = _mm512_xor_si512(sum[2 * s], _mm512_loadu_si512(p));
      sum[2 * s + 1] = _mm512_xor_si512(sum[2 * s + 1], _mm512_loadu_si512(p + 64));
    }
  }
  for (int s = 1; s < 2 * streams; ++s) sum[0] = _mm512_xor_si512(sum[0], sum[s]);
  long words[8];
  _mm512_storeu_si512(words, sum[0]);
  return words[0];
}

long read128(const std::byte* data, size_t bytes) {
  __m128i sum[4] = {};
  for (size_t i = 0; i + 64 <= bytes; i += 64) {
    for (int j = 0; j < 4; ++j) {
      sum[j] =
          _mm_xor_si128(sum[j], _mm_loadu_si128(reinterpret_cast<const __m128i*>(data + i) + j));
    }
  }
  return _mm_cvtsi128_si64(
      _mm_xor_si128(_mm_xor_si128(sum[0], sum[1]), _mm_xor_si128(sum[2], sum[3])));
}

__attribute__((target("avx512f"))) void copy512(std::byte* to, const std::byte* from,
                                                size_t bytes) {
  for (size_t i = 0; i < bytes; i += 64) {
    _mm512_stream_si512(reinterpret_cast<__m512i*>(to + i), _mm512_loadu_si512(from + i));
  }
  _mm_sfence();
}

void copy128(std::byte* to, const std::byte* from, size_t bytes) {
  for (size_t i = 0; i < bytes; i += 16) {
    _mm_stream_si128(reinterpret_cast<__m128i*>(to + i),
                     _mm_loadu_si128(reinterpret_cast<const __m128i*>(from + i)));
  }
  _mm_sfence();
}

bool has_avx512() {
  return __builtin_cpu_supports("avx512f") != 0;
}

/// The system has to say so, which the runtime asks.
tw_features tile_features() {
  static const tw_features features = [] {
    tw_device device = tilewright::sized<tw_device>();
    return tw_device_detect(&device) == TW_OK ? device.features : 0;
  }();
  return features;
}

}  // namespace

double clock_ghz(long adds) {
  long n = adds / 32;
  const double start = now();
  // Register operands: some cores fold chains of adds of constants when renaming.
  asm volatile(
      ".p2align 6\n"
      "1:\n"
      ".rept 32\n"
      "add %%rcx, %%rax\n"
      ".endr\n"
      "dec %0\n"
      "jnz 1b\n"
      : "+r"(n)
      :
      : "rax", "rcx", "cc");
  return static_cast<double>(adds / 32 * 32) / (now() - start) / 1e9;
}

std::vector<PeakLoop> tile_loops() {
  // 16 x 16 x 64 MACs in 16 cycles, of bf16 half as many, of a clock that falls to six sevenths of
  // the scalar one on Granite Rapids; nobody says how far elsewhere.
  return {
      {"tdpbsud", TW_FEATURE_AMX_INT8, 16384, 4, 400, run_tdpbsud, 8, run_tdpbsud_loaded},
      {"tdpbf16ps", TW_FEATURE_AMX_BF16, 8192, 4, 200, run_tdpbf16ps, 16, run_tdpbf16ps_loaded}};
}

std::vector<PeakLoop> peak_loops() {
  // 64 MACs an instruction; every core with AVX512-VNNI starts at least one a cycle. So do those
  // with AVX-VNNI and AVX2 with 32.
  std::vector<PeakLoop> loops;
  for (const PeakLoop& loop : tile_loops()) {
    if ((tile_features() & loop.feature) != 0) loops.push_back(loop);
  }
  if (__builtin_cpu_supports("avx512vnni") != 0) {
    loops.push_back({"vpdpbusd zmm", TW_FEATURE_AVX512VNNI, 64, accumulators, 63, run_vpdpbusd, 8,
                     run_vpdpbusd_loaded});
  }
  if (__builtin_cpu_supports("avxvnni") != 0) {
    loops.push_back({"vpdpbusd ymm", TW_FEATURE_AVXVNNI, 32, accumulators_256, 31, run_vpdpbusd_256,
                     8, run_vpdpbusd_256_loaded});
  }
  if (__builtin_cpu_supports("avx2") != 0) {
    loops.push_back({"vpmaddubsw + vpaddw ymm", TW_FEATURE_AVX2, 32, accumulators_256, 30,
                     run_vpmaddubsw, 8, run_vpmaddubsw_loaded});
    loops.push_back({"vpmaddwd + vpaddd ymm", TW_FEATURE_AVX2, 16, accumulators_256, 15,
                     run_vpmaddwd, 16, run_vpmaddwd_loaded});
  }
  // Of bf16 32 MACs, by half an instruction a cycle at least.
  if (__builtin_cpu_supports("avx512bf16") != 0) {
    loops.push_back({"vdpbf16ps zmm", TW_FEATURE_AVX512BF16, 32, accumulators, 15.7, run_vdpbf16ps,
                     16, run_vdpbf16ps_loaded});
  }
  // Floats: 16 and 8 MACs; one such instruction a cycle is the least.
  if (has_avx512()) {
    loops.push_back({"vfmadd231ps zmm", TW_FEATURE_AVX512F, 16, accumulators, 15.7, run_fma, 32,
                     run_fma_loaded});
  }
  if (__builtin_cpu_supports("fma") != 0) {
    loops.push_back({"vfmadd231ps ymm", TW_FEATURE_FMA, 8, accumulators_256, 7.8, run_fma_256, 32,
                     run_fma_256_loaded});
  }
  return loops;
}

const ReadLoop* read_loops() {
  static const ReadLoop wide[] = {{"zmm loads, 1 stream", read512<1, 0>},
                                  {"zmm loads, 2 streams", read512<2, 0>},
                                  {"zmm loads, 4 streams", read512<4, 0>},
                                  {"zmm loads, 1 stream, prefetch 512 B ahead", read512<1, 512>},
                                  {"zmm loads, 4 streams, prefetch 1 KiB ahead", read512<4, 1024>},
                                  {nullptr, nullptr}};
  static const ReadLoop narrow[] = {{"xmm loads, 1 stream", read128}, {nullptr, nullptr}};
  return has_avx512() ? wide : narrow;
}

CopyLoop stream_copy() {
  return has_avx512() ? copy512 : copy128;
}

}  // namespace tw::measure
