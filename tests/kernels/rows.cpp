#include "kernels/rows.h"

#include <cstdlib>
#include <cstring>
#include <sstream>

#include "reference/ggml_blocks.h"
#include "support/device.h"

#if defined(__aarch64__)
#include <asm/hwcap.h>
#include <sys/auxv.h>
#include <sys/prctl.h>
#endif

namespace tw::test {
namespace {

const tw_device& device() {
  static const tw_device detected = detected_device();
  return detected;
}

bool listed(const std::string& list, const std::string& word) {
  std::istringstream words(list);
  for (std::string item; std::getline(words, item, ',');) {
    if (item == word) return true;
  }
  return false;
}

struct Feature {
  tw_features bit;
  bool present;
};

#if defined(__x86_64__)
const std::vector<Feature>& known_features() {
  static const std::vector<Feature> list = {
      {TW_FEATURE_AVX2, __builtin_cpu_supports("avx2") != 0},
      {TW_FEATURE_FMA, __builtin_cpu_supports("fma") != 0},
      {TW_FEATURE_F16C, __builtin_cpu_supports("f16c") != 0},
      {TW_FEATURE_AVXVNNI, __builtin_cpu_supports("avxvnni") != 0},
      {TW_FEATURE_AVX512F, __builtin_cpu_supports("avx512f") != 0},
      {TW_FEATURE_AVX512BW, __builtin_cpu_supports("avx512bw") != 0},
      {TW_FEATURE_AVX512DQ, __builtin_cpu_supports("avx512dq") != 0},
      {TW_FEATURE_AVX512VL, __builtin_cpu_supports("avx512vl") != 0},
      {TW_FEATURE_AVX512VNNI, __builtin_cpu_supports("avx512vnni") != 0},
      {TW_FEATURE_AVX512BF16, __builtin_cpu_supports("avx512bf16") != 0},
      {TW_FEATURE_GFNI, __builtin_cpu_supports("gfni") != 0},
      {TW_FEATURE_BMI2, __builtin_cpu_supports("bmi2") != 0},
      {TW_FEATURE_AMX_TILE, tiles_here() != Tiles::none},
      {TW_FEATURE_AMX_INT8, tiles_here() != Tiles::none},
      {TW_FEATURE_AMX_BF16, tiles_here() != Tiles::none}};
  return list;
}
#elif defined(__aarch64__)
const std::vector<Feature>& known_features() {
  const unsigned long first = getauxval(AT_HWCAP);
  // Headers of many systems do not know the bits of SME.
  const unsigned long second = getauxval(AT_HWCAP2);
  static const std::vector<Feature> list = {{TW_FEATURE_NEON, (first & HWCAP_ASIMD) != 0},
                                            {TW_FEATURE_DOTPROD, (first & HWCAP_ASIMDDP) != 0},
                                            {TW_FEATURE_FP16, (first & HWCAP_ASIMDHP) != 0},
                                            {TW_FEATURE_I8MM, (second & HWCAP2_I8MM) != 0},
                                            {TW_FEATURE_BF16, (second & HWCAP2_BF16) != 0},
                                            {TW_FEATURE_FHM, (first & HWCAP_ASIMDFHM) != 0},
                                            {TW_FEATURE_SVE, (first & HWCAP_SVE) != 0},
                                            {TW_FEATURE_SVE2, (second & HWCAP2_SVE2) != 0},
                                            {TW_FEATURE_SME, (second >> 23 & 1) != 0},
                                            {TW_FEATURE_SME2, (second >> 37 & 1) != 0}};
  return list;
}
#endif

}  // namespace

size_t vector_bytes() {
#if defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_SVE) == 0) return 0;
  return static_cast<size_t>(prctl(PR_SVE_GET_VL)) & PR_SVE_VL_LEN_MASK;
#else
  return 0;
#endif
}

size_t streaming_bytes() {
#if defined(__aarch64__)
  constexpr unsigned long sme = 1UL << 23;  // newer than many systems' headers
  constexpr int get_length = 64;
  if ((getauxval(AT_HWCAP2) & sme) == 0) return 0;
  return static_cast<size_t>(prctl(get_length)) & PR_SVE_VL_LEN_MASK;
#else
  return 0;
#endif
}

size_t vector_bytes(const tw_layout& layout) {
  return layout.streaming != 0 ? streaming_bytes() : vector_bytes();
}

size_t panel_rows(const tw_layout& layout) {
  return layout.panel + layout.panel_scalable * (vector_bytes(layout) / 16);
}

size_t panel_bytes(const tw_layout& layout, size_t k) {
  const size_t padded = (k + layout.k_multiple - 1) / layout.k_multiple * layout.k_multiple;
  const size_t blocks = layout.block == 0 ? 0 : padded / layout.block;
  return panel_rows(layout) * (padded * layout.data_bits / 8 + layout.per_row_bytes +
                               blocks * layout.per_row_block_bytes);
}

size_t tile_rows(const tw_kernel& kernel) {
  return kernel.tile_m + kernel.tile_m_scalable * (vector_bytes(*kernel.lhs) / 16);
}

size_t tile_columns(const tw_kernel& kernel) {
  return kernel.tile_n + kernel.tile_n_scalable * (vector_bytes(*kernel.rhs) / 16);
}

std::vector<const tw_kernel*> running_kernels() {
  std::vector<const tw_kernel*> rows;
  for (size_t i = 0; i < tw_generated_kernel_count; ++i) {
    const tw_kernel& row = tw_generated_kernels[i];
    if (row.run != nullptr && tw_kernel_supported(&row, &device()) != 0) rows.push_back(&row);
  }
  return rows;
}

Packers find_packers(const tw_kernel& kernel) {
  Packers found;
  const auto take = [&](const tw_packer*& place, const tw_packer& row) {
    const bool own = std::strcmp(row.isa, kernel.isa) == 0;
    if (place == nullptr || own) place = &row;
  };
  for (size_t i = 0; i < tw_generated_packer_count; ++i) {
    const tw_packer& row = tw_generated_packers[i];
    if (tw_packer_supported(&row, &device()) == 0) continue;
    // Operands are made as f32, those without a scale and those of sums as codes.
    const char* usual = kernel.dst == TW_S32 ? "s8" : "f32";
    const bool others = std::strcmp(row.source, usual) != 0 && kernel.lhs->scales != 0;
    const bool halves = std::strstr(row.source, "f16") != nullptr;
    if (row.layout->id == kernel.lhs->id && !halves && !others) take(found.lhs, row);
    if (row.layout->id != kernel.rhs->id) continue;
    if (std::strcmp(row.source, "nxk") == 0) take(found.nxk, row);
    if (std::strcmp(row.source, "kxn") == 0) take(found.kxn, row);
    if (find_ggml(row.source) != nullptr) take(found.ggml, row);
  }
  return found;
}

bool should_run(const char* isa, tw_features features) {
  const char* list = std::getenv("TILEWRIGHT_EXPECT_ISAS");
  if (list != nullptr) return listed(list, isa);
  for (const Feature& feature : known_features()) {
    if (feature.present) features &= ~feature.bit;
  }
  return features == 0;
}

}  // namespace tw::test
