// The loops behind machine_limits.h on AArch64.
#include <arm_neon.h>
#include <sys/auxv.h>

#include "measure/machine_limits.h"

namespace tw::measure {
namespace {

// <asm/hwcap.h> of older systems lacks the second, so both are spelled out.
constexpr unsigned long hwcap_fp16 = 1UL << 10;
constexpr unsigned long hwcap_dotprod = 1UL << 20;
constexpr unsigned long hwcap_fhm = 1UL << 23;
constexpr unsigned long hwcap2_i8mm = 1UL << 13;
constexpr unsigned long hwcap2_bf16 = 1UL << 14;

constexpr int accumulators = 24;

// One loop of 24 independent instructions `op`; .arch_extension so that no flags are needed.
#define TW_PEAK_LOOP(function, extension, op, to, lanes)                                         \
  void function(long iterations) {                                                               \
    asm volatile(                                                                                \
        ".arch armv8.2-a\n"                                                                      \
        ".arch_extension " extension                                                             \
        "\n"                                                                                     \
        ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23,30,31\n"          \
        "movi v\\i\\().4s, #0\n"                                                                 \
        ".endr\n"                                                                                \
        ".p2align 6\n"                                                                           \
        "1:\n"                                                                                   \
        ".irp i, 0,1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,20,21,22,23\n" op             \
        " v\\i\\()." to ", v30." lanes ", v31." lanes                                            \
        "\n"                                                                                     \
        ".endr\n"                                                                                \
        "subs %0, %0, #1\n"                                                                      \
        "b.ne 1b\n"                                                                              \
        : "+r"(iterations)                                                                       \
        :                                                                                        \
        : "cc", "v0", "v1", "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", \
          "v13", "v14", "v15", "v16", "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v30",    \
          "v31");                                                                                \
  }
TW_PEAK_LOOP(run_smmla, "i8mm", "smmla", "4s", "16b")
TW_PEAK_LOOP(run_sdot, "dotprod", "sdot", "4s", "16b")
TW_PEAK_LOOP(run_bfmmla, "bf16", "bfmmla", "4s", "8h")
TW_PEAK_LOOP(run_fmla_halves, "fp16", "fmla", "8h", "8h")
TW_PEAK_LOOP(run_fmlal, "fp16fml", "fmlal", "4s", "4h")
TW_PEAK_LOOP(run_fmla, "simd", "fmla", "4s", "4s")
#undef TW_PEAK_LOOP

/// Reads `streams` equal parts of the buffer side by side, prefetching `ahead` bytes (0: not).
template <int streams, int ahead>
long read_neon(const std::byte* data, size_t bytes) {
  const size_t part = bytes / streams / 64 * 64;
  uint64x2_t sum[4 * streams] = {};
  for (size_t i = 0; i < part; i += 64) {
    for (int s = 0; s < streams; ++s) {
      const std::byte* p = data + static_cast<size_t>(s) * part + i;
      if constexpr (ahead > 0) __builtin_prefetch(p + ahead);
      for (int j = 0; j < 4; ++j) {
        sum[4 * s + j] =
            veorq_u64(sum[4 * s + j], vld1q_u64(reinterpret_cast<const uint64_t*>(p) + 2 * j));
      }
    }
  }
  for (int s = 1; s < 4 * streams; ++s) sum[0] = veorq_u64(sum[0], sum[s]);
  return static_cast<long>(vgetq_lane_u64(sum[0], 0) ^ vgetq_lane_u64(sum[0], 1));
}

}  // namespace

double clock_ghz(long adds) {
  long n = adds / 32;
  const double start = now();
  asm volatile(
      ".p2align 6\n"
      "1:\n"
      ".rept 32\n"
      "add x10, x10, x11\n"
      ".endr\n"
      "subs %0, %0, #1\n"
      "b.ne 1b\n"
      : "+r"(n)
      :
      : "x10", "x11", "cc");
  return static_cast<double>(adds / 32 * 32) / (now() - start) / 1e9;
}

std::vector<PeakLoop> peak_loops() {
  // Little cores start one such instruction every other cycle (A510: a shared unit).
  std::vector<PeakLoop> loops;
  if ((getauxval(AT_HWCAP2) & hwcap2_i8mm) != 0) {
    loops.push_back({"smmla", TW_FEATURE_I8MM, 32, accumulators, 15, run_smmla});
  }
  if ((getauxval(AT_HWCAP) & hwcap_dotprod) != 0) {
    loops.push_back({"sdot", TW_FEATURE_DOTPROD, 16, accumulators, 7.5, run_sdot});
  }
  if ((getauxval(AT_HWCAP2) & hwcap2_bf16) != 0) {
    loops.push_back({"bfmmla", TW_FEATURE_BF16, 16, accumulators, 7.5, run_bfmmla, 16});
  }
  if ((getauxval(AT_HWCAP) & hwcap_fp16) != 0) {
    loops.push_back({"fmla.8h", TW_FEATURE_FP16, 8, accumulators, 3.8, run_fmla_halves, 16});
  }
  if ((getauxval(AT_HWCAP) & hwcap_fhm) != 0) {
    loops.push_back({"fmlal", TW_FEATURE_FHM, 4, accumulators, 1.9, run_fmlal, 16});
  }
  loops.push_back({"fmla", TW_FEATURE_NEON, 4, accumulators, 1.9, run_fmla, 32});
  return loops;
}

const ReadLoop* read_loops() {
  static const ReadLoop loops[] = {{"q loads, 1 stream", read_neon<1, 0>},
                                   {"q loads, 2 streams", read_neon<2, 0>},
                                   {"q loads, 4 streams", read_neon<4, 0>},
                                   {"q loads, 1 stream, prefetch 512 B ahead", read_neon<1, 512>},
                                   {"q loads, 1 stream, prefetch 2 KiB ahead", read_neon<1, 2048>},
                                   {nullptr, nullptr}};
  return loops;
}

CopyLoop stream_copy() {
  return nullptr;
}

}  // namespace tw::measure
