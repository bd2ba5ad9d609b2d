/* AArch64: features by hwcaps (own bit names: system headers are often older than the CPU),
 * MIDR_EL1 of the running core. */
#include "internal.h"

/* Bits of AT_HWCAP and AT_HWCAP2. */
enum {
  BIT_ASIMD = 1,
  BIT_ASIMDHP = 10,
  BIT_CPUID = 11,
  BIT_ASIMDDP = 20,
  BIT_SVE = 22,
  BIT_ASIMDFHM = 23
};
enum { BIT2_SVE2 = 1, BIT2_I8MM = 13, BIT2_BF16 = 14, BIT2_SME = 23, BIT2_SME2 = 37 };

tw_features tw_aarch64_features(uint64_t hwcap, uint64_t hwcap2) {
  const struct {
    uint64_t caps;
    int bit;
    tw_features feature;
  } table[] = {
      {hwcap, BIT_ASIMD, TW_FEATURE_NEON},      {hwcap, BIT_ASIMDHP, TW_FEATURE_FP16},
      {hwcap, BIT_ASIMDDP, TW_FEATURE_DOTPROD}, {hwcap, BIT_SVE, TW_FEATURE_SVE},
      {hwcap2, BIT2_SVE2, TW_FEATURE_SVE2},     {hwcap2, BIT2_I8MM, TW_FEATURE_I8MM},
      {hwcap2, BIT2_BF16, TW_FEATURE_BF16},     {hwcap2, BIT2_SME, TW_FEATURE_SME},
      {hwcap2, BIT2_SME2, TW_FEATURE_SME2},     {hwcap, BIT_ASIMDFHM, TW_FEATURE_FHM},
  };
  tw_features features = 0;
  for (size_t i = 0; i < sizeof table / sizeof table[0]; ++i) {
    if ((table[i].caps >> table[i].bit & 1) != 0) features |= table[i].feature;
  }
  return features;
}

#if defined(__aarch64__) || defined(_M_ARM64)
#if defined(__linux__)
#include <sys/auxv.h>
#include <sys/prctl.h>

enum { AUXV_HWCAP = 16, AUXV_HWCAP2 = 26, PRCTL_SVE_LENGTH = 51, PRCTL_SME_LENGTH = 64 };

static size_t vector_length(int question) {
  const int answer = prctl(question, 0, 0, 0, 0);
  return answer < 0 ? 0 : (size_t)(answer & 0xffff);
}

void tw_detect_aarch64(tw_device* device) {
  const uint64_t hwcap = getauxval(AUXV_HWCAP);
  device->features = tw_aarch64_features(hwcap, getauxval(AUXV_HWCAP2));
  if ((device->features & TW_FEATURE_SVE) != 0) {
    device->vector_bytes = vector_length(PRCTL_SVE_LENGTH);
  }
  if ((device->features & TW_FEATURE_SME) != 0) {
    device->streaming_vector_bytes = vector_length(PRCTL_SME_LENGTH);
  }
  if ((hwcap >> BIT_CPUID & 1) != 0) { /* of the core that runs this; the kernel emulates it */
    __asm__("mrs %0, midr_el1" : "=r"(device->clusters[0].midr));
  }
}
#else
void tw_detect_aarch64(tw_device* device) {
  device->features = TW_FEATURE_NEON; /* the system tells the rest */
}
#endif
#else
void tw_detect_aarch64(tw_device* device) {
  (void)device;
}
#endif
