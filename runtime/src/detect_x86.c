/* x86: features by cpuid and XCR0, caches by cpuid leaf 4 (Intel) or 0x8000001D (AMD). */
#if defined(__linux__) && !defined(_DEFAULT_SOURCE)
#define _DEFAULT_SOURCE 1 /* syscall(), also where a compiler keeps to the letter of C11 */
#endif
#include "internal.h"

static bool bit(uint64_t value, int index) {
  return (value >> index & 1) != 0;
}

tw_features tw_x86_features(const tw_x86_registers* r) {
  tw_features features = 0;
  /* The operating system must save ymm (bits 1, 2) and zmm and masks (5, 6, 7). */
  const bool os = bit(r->leaf1_ecx, 27);
  const bool ymm = os && (r->xcr0 & 0x6) == 0x6 && bit(r->leaf1_ecx, 28);
  const bool zmm = ymm && (r->xcr0 & 0xe0) == 0xe0 && bit(r->leaf7_ebx, 16);
  if (bit(r->leaf7_ebx, 8)) features |= TW_FEATURE_BMI2;
  if (!ymm) return features;
  if (bit(r->leaf1_ecx, 12)) features |= TW_FEATURE_FMA;
  if (bit(r->leaf1_ecx, 29)) features |= TW_FEATURE_F16C;
  if (bit(r->leaf7_ebx, 5)) features |= TW_FEATURE_AVX2;
  if (bit(r->leaf7_1_eax, 4)) features |= TW_FEATURE_AVXVNNI;
  if (!zmm) return features;
  features |= TW_FEATURE_AVX512F;
  if (bit(r->leaf7_ebx, 17)) features |= TW_FEATURE_AVX512DQ;
  if (bit(r->leaf7_ebx, 30)) features |= TW_FEATURE_AVX512BW;
  if (bit(r->leaf7_ebx, 31)) features |= TW_FEATURE_AVX512VL;
  if (bit(r->leaf7_ecx, 11)) features |= TW_FEATURE_AVX512VNNI;
  if (bit(r->leaf7_1_eax, 5)) features |= TW_FEATURE_AVX512BF16;
  if (bit(r->leaf7_ecx, 8)) features |= TW_FEATURE_GFNI;
  /* Tiles and their shapes: bits 17 and 18. */
  const bool tiles = (r->xcr0 & 0x60000) == 0x60000 && bit(r->leaf7_edx, 24);
  if (!tiles || !r->tiles_granted) return features;
  features |= TW_FEATURE_AMX_TILE;
  if (bit(r->leaf7_edx, 22)) features |= TW_FEATURE_AMX_BF16;
  if (bit(r->leaf7_edx, 25)) features |= TW_FEATURE_AMX_INT8;
  return features;
}

#if defined(__x86_64__) || defined(__i386__) || defined(_M_X64)
#include <stdio.h>
#include <stdlib.h>

#if defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

typedef struct cpuid_result {
  uint32_t eax, ebx, ecx, edx;
} cpuid_result;

#if defined(_MSC_VER)
#include <intrin.h>

static cpuid_result cpuid(uint32_t leaf, uint32_t subleaf) {
  int most[4], r[4] = {0, 0, 0, 0};
  __cpuid(most, (int)(leaf & 0x80000000u));
  if (leaf <= (uint32_t)most[0]) __cpuidex(r, (int)leaf, (int)subleaf);
  const cpuid_result result = {(uint32_t)r[0], (uint32_t)r[1], (uint32_t)r[2], (uint32_t)r[3]};
  return result;
}

static uint64_t read_xcr0(void) {
  return _xgetbv(0);
}
#else
#include <cpuid.h>

static cpuid_result cpuid(uint32_t leaf, uint32_t subleaf) {
  cpuid_result r = {0, 0, 0, 0};
  if (leaf <= __get_cpuid_max(leaf & 0x80000000u, NULL)) {
    __cpuid_count(leaf, subleaf, r.eax, r.ebx, r.ecx, r.edx);
  }
  return r;
}

static uint64_t read_xcr0(void) {
  uint32_t low, high;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (uint64_t)high << 32 | low;
}
#endif

/* Linux hands out tiles by process, to those who ask; elsewhere we do not know how to. */
static bool ask_for_tiles(void) {
  const char* wanted = getenv("TILEWRIGHT_AMX");
  if (wanted != NULL && strcmp(wanted, "0") == 0) return false;
#if defined(__linux__) && defined(__x86_64__) && defined(SYS_arch_prctl)
  enum { REQUEST_PERMISSION = 0x1023, TILES = 18 }; /* newer than many systems' headers */
  return syscall(SYS_arch_prctl, REQUEST_PERMISSION, TILES) == 0;
#else
  return false;
#endif
}

static void read_features(tw_device* device) {
  const cpuid_result one = cpuid(1, 0), seven = cpuid(7, 0);
  tw_x86_registers r = {.leaf1_ecx = one.ecx, .leaf7_ebx = seven.ebx, .leaf7_ecx = seven.ecx};
  r.leaf7_edx = seven.edx;
  if (seven.eax >= 1) r.leaf7_1_eax = cpuid(7, 1).eax;
  if (bit(one.ecx, 27)) r.xcr0 = read_xcr0();
  r.tiles_granted = true;
  device->features = tw_x86_features(&r);
  if ((device->features & TW_FEATURE_AMX_TILE) != 0 && !ask_for_tiles()) {
    r.tiles_granted = false;
    device->features = tw_x86_features(&r);
  }

  device->stepping = one.eax & 0xf;
  device->model = one.eax >> 4 & 0xf;
  device->family = one.eax >> 8 & 0xf;
  if (device->family == 6 || device->family == 15) device->model |= (one.eax >> 16 & 0xf) << 4;
  if (device->family == 15) device->family += one.eax >> 20 & 0xff;
}

static void read_names(tw_device* device) {
  const cpuid_result zero = cpuid(0, 0);
  char vendor[13] = {0};
  memcpy(vendor, &zero.ebx, 4);
  memcpy(vendor + 4, &zero.edx, 4);
  memcpy(vendor + 8, &zero.ecx, 4);
  const char* maker = strcmp(vendor, "AuthenticAMD") == 0   ? "AMD"
                      : strcmp(vendor, "GenuineIntel") == 0 ? "Intel"
                                                            : vendor;
  snprintf(device->clusters[0].name, sizeof device->clusters[0].name, "%s %u.%u", maker,
           (unsigned)device->family & 0xfff, (unsigned)device->model & 0xff);
  char brand[49] = {0};
  for (uint32_t i = 0; i < 3; ++i) {
    const cpuid_result r = cpuid(0x80000002u + i, 0);
    memcpy(brand + 16 * i, &r, 16);
  }
  snprintf(device->name, sizeof device->name, "%s", brand[0] != '\0' ? brand : vendor);
}

static void read_caches(tw_device* device) {
  const bool amd = (cpuid(0x80000001u, 0).ecx >> 22 & 1) != 0; /* topology extensions */
  for (uint32_t index = 0; index < 16; ++index) {
    const cpuid_result r = cpuid(amd ? 0x8000001Du : 4u, index);
    const uint32_t type = r.eax & 0x1f, level = r.eax >> 5 & 7;
    if (type == 0) return;
    if (type == 2) continue; /* instructions */
    const size_t bytes = ((size_t)(r.ebx >> 22) + 1) * ((r.ebx >> 12 & 0x3ff) + 1) *
                         ((r.ebx & 0xfff) + 1) * ((size_t)r.ecx + 1);
    if (level == 1) device->l1_bytes = bytes;
    if (level == 2) device->l2_bytes = bytes;
    if (level == 3) device->l3_bytes = bytes;
  }
}

void tw_detect_x86(tw_device* device) {
  read_features(device);
  device->virtual_machine = bit(cpuid(1, 0).ecx, 31);
  read_names(device);
  read_caches(device);
}
#else
void tw_detect_x86(tw_device* device) {
  (void)device;
}
#endif
