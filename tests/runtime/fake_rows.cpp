#include "runtime/fake_rows.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <functional>
#include <stdexcept>

#include "reference/fused.h"
#include "reference/matmul_reference.h"

namespace tw::test {
namespace {

constexpr size_t kMultiple = 32;
size_t padded(size_t k) {
  return (k + kMultiple - 1) / kMultiple * kMultiple;
}

template <typename T>
T* at(const void* base, size_t bytes) {
  return reinterpret_cast<T*>(const_cast<char*>(static_cast<const char*>(base)) + bytes);
}

/// Row of an LHS panel: codes as i8, then an i32 zero point and an f32 scale.
constexpr size_t kLhsExtra = 8;
size_t lhs_row_bytes(size_t k) {
  return padded(k) + kLhsExtra;
}

void pack_lhs(const tw_pack_args* a, size_t panel) {
  for (size_t row = a->row_begin; row < a->row_end; ++row) {
    char* packed =
        at<char>(a->packed, row / panel * a->packed_stride + row % panel * lhs_row_bytes(a->k));
    const QuantizedRow q = quantize_row_qai8dx(at<float>(a->source, row * a->source_stride), a->k);
    std::memset(packed, 0, lhs_row_bytes(a->k));
    std::copy(q.codes.begin(), q.codes.end(), packed);
    std::memcpy(packed + padded(a->k), &q.zero_point, 4);
    std::memcpy(packed + padded(a->k) + 4, &q.scale, 4);
  }
}

/// Column of an RHS panel: codes as i4 (two's complement), then f32 scale and bias.
constexpr size_t kRhsExtra = 8;
size_t rhs_column_bytes(size_t k) {
  return padded(k) / 2 + kRhsExtra;
}

int nibble(const uint8_t* bytes, size_t index, bool is_unsigned) {
  const int code = bytes[index / 2] >> (index % 2 * 4) & 15;
  return is_unsigned ? code - 8 : (code ^ 8) - 8;
}

void pack_rhs(const tw_pack_args* a, size_t panel, bool nxk) {
  const bool is_unsigned = (a->flags & TW_PACK_UNSIGNED_NIBBLES) != 0;
  for (size_t n = a->row_begin; n < a->row_end; ++n) {
    uint8_t* packed =
        at<uint8_t>(a->packed, n / panel * a->packed_stride + n % panel * rhs_column_bytes(a->k));
    std::memset(packed, 0, rhs_column_bytes(a->k));
    for (size_t k = 0; k < a->k; ++k) {
      const uint8_t* row = at<uint8_t>(a->source, (nxk ? n : k) * a->source_stride);
      const int code = nibble(row, nxk ? k : n, is_unsigned);
      packed[k / 2] = static_cast<uint8_t>(packed[k / 2] | (code & 15) << (k % 2 * 4));
    }
    const float bias = a->bias != nullptr ? *at<float>(a->bias, n * 4) : 0;
    std::memcpy(packed + padded(a->k) / 2, at<float>(a->scales, n * 4), 4);
    std::memcpy(packed + padded(a->k) / 2 + 4, &bias, 4);
  }
}

float dot(const tw_args* a, const char* lhs, const char* rhs, size_t column) {
  int32_t zero_point = 0;
  float lhs_scale = 0;
  float rhs_scale = 0;
  float bias = 0;
  std::memcpy(&zero_point, lhs + padded(a->k), 4);
  std::memcpy(&lhs_scale, lhs + padded(a->k) + 4, 4);
  std::memcpy(&rhs_scale, rhs + padded(a->k) / 2, 4);
  std::memcpy(&bias, rhs + padded(a->k) / 2 + 4, 4);
  if (a->bias != nullptr) bias = static_cast<const float*>(a->bias)[column];
  int32_t sum = 0;
  for (size_t k = 0; k < a->k; ++k) {
    sum += (static_cast<int8_t>(lhs[k]) - zero_point) *
           nibble(reinterpret_cast<const uint8_t*>(rhs), k, false);
  }
  return clamp_output(fused(static_cast<float>(sum), rhs_scale * lhs_scale, bias), a->min, a->max);
}

void multiply_tile(const tw_args* a, const tw_kernel& kernel) {
  calls().push_back({&kernel, a->m, a->n, a->rhs_prefetch, a->flags});
  const size_t lhs_panel = kernel.lhs->panel;
  const size_t rhs_panel = kernel.rhs->panel;
  for (size_t row = 0; row < a->m; ++row) {
    const char* lhs =
        at<char>(a->lhs, row / lhs_panel * a->lhs_stride + row % lhs_panel * lhs_row_bytes(a->k));
    for (size_t n = 0; n < a->n; ++n) {
      const char* rhs =
          at<char>(a->rhs, n / rhs_panel * a->rhs_stride + n % rhs_panel * rhs_column_bytes(a->k));
      at<float>(a->dst, row * a->dst_stride)[n] = dot(a, lhs, rhs, n);
    }
  }
}

// ---- layouts: LHS by panel, RHS by ISA ----

const tw_layout kLhs1{0x101,           "lhs 1", 1, 0, kMultiple, 0, 8,       kLhsExtra,    0, 0, 1,
                      TW_SCALES_UNSET, 0,       0, 0, 0,         0, nullptr, TW_TYPE_NONE, 0};
const tw_layout kLhs4{0x104,           "lhs 4", 4, 0, kMultiple, 0, 8,       kLhsExtra,    0, 0, 1,
                      TW_SCALES_UNSET, 0,       0, 0, 0,         0, nullptr, TW_TYPE_NONE, 0};
const tw_layout kLhs8{0x108,           "lhs 8", 8, 0, kMultiple, 0, 8,       kLhsExtra,    0, 0, 1,
                      TW_SCALES_UNSET, 0,       0, 0, 0,         0, nullptr, TW_TYPE_NONE, 0};
const tw_layout kRhs8{0x208, "rhs 8 scalar",  8, 0, kMultiple, 0, 4, kRhsExtra, 0,     131071,
                      1,     TW_SCALES_UNSET, 0, 0, 0,         0, 0, nullptr,   TW_S4, 0};
const tw_layout kRhs32{0x220, "rhs 32",        32, 0, kMultiple, 0, 4, kRhsExtra, 0,     131071,
                       1,     TW_SCALES_UNSET, 0,  0, 0,         0, 0, nullptr,   TW_S4, 0};
const tw_layout kRhs8Arm{0x308, "rhs 8 arm",     8, 0, kMultiple, 0, 4, kRhsExtra, 0,     65535,
                         1,     TW_SCALES_UNSET, 0, 0, 0,         0, 0, nullptr,   TW_S4, 0};
const tw_layout kRhsScalable{0x404,     "rhs 4vl", 0,      4,       kMultiple,       0, 4,
                             kRhsExtra, 0,         131071, 1,       TW_SCALES_UNSET, 0, 0,
                             0,         0,         0,      nullptr, TW_S4,           0};

// Blocks: what a plan hands on is looked at, nothing is computed.
const tw_layout kLhsBlocks{
    0x501, "lhs b32", 1, 0, 32,      32,           8, 0, 8, 0, 1, TW_SCALES_UNSET, 0,
    0,     0,         0, 0, nullptr, TW_TYPE_NONE, 0};
const tw_layout kRhsHalf{0x502, "rhs b32 f16", 8, 0, 32, 32, 4, 8,       2,     0,
                         1,     TW_SCALES_F16, 0, 0, 0,  0,  0, nullptr, TW_S4, 0};
const tw_layout kRhsBrain{0x503, "rhs b64 bf16", 8, 0, 32, 64, 4, 8,       2,     0,
                          1,     TW_SCALES_BF16, 0, 0, 0,  0,  0, nullptr, TW_S4, 0};
const tw_layout kRhsFloat{0x504, "rhs b64 f32", 8, 0, 32, 64, 4, 8,       4,     0,
                          1,     TW_SCALES_F32, 0, 0, 0,  0,  0, nullptr, TW_S4, 0};

template <int Index>
void note_kernel(const tw_args* args) {
  calls().push_back(
      {&tw_generated_kernels[Index], args->m, args->n, args->rhs_prefetch, args->flags});
}
void note_packer(const tw_pack_args* args) {
  pack_calls().push_back(*args);
}

template <int Index>
void run(const tw_args* args) {
  multiply_tile(args, tw_generated_kernels[Index]);
}

tw_kernel row(const char* name, const char* isa, tw_kernel_fn function, tw_features features,
              const tw_layout& lhs, const tw_layout& rhs, size_t tile_m, size_t tile_n,
              double rate) {
  return {name,        kFamily,
          isa,         "intrinsics",
          "dot",       "specs/fake.yaml:1:1",
          function,    features,
          &lhs,        &rhs,
          tile_m,      tile_n,
          0,           32,
          1,           16,
          rate,        std::hash<std::string>()(name),
          "unknown",   "",
          0,           0,
          tile_m >= 8, TW_F32,
          0,           name,
          0,           nullptr};
}

tw_kernel block_row(const char* name, tw_kernel_fn function, const tw_layout& rhs) {
  tw_kernel made = row(name, "scalar", function, 0, kLhsBlocks, rhs, 1, 8, 1);
  made.family = kBlockFamily;
  return made;
}

tw_kernel in_order(tw_kernel row) {
  row.core = "cortex-a510";
  row.in_order = 1;
  return row;
}

/// How long its rows are is all that is asked of it.
tw_source source(tw_rhs_order order, const char* name, tw_type type, size_t block = 0,
                 size_t block_bytes = 0) {
  tw_source made{};
  made.name = name;
  made.order = order;
  made.block = block;
  made.block_bytes = block_bytes;
  made.axes.rows.dim = order == TW_KXN ? TW_DIM_K : TW_DIM_N;
  made.axes.data.type = type;
  return made;
}

template <size_t Panel>
void lhs_packer(const tw_pack_args* args) {
  pack_lhs(args, Panel);
}
template <size_t Panel, bool Nxk>
void rhs_packer(const tw_pack_args* args) {
  pack_rhs(args, Panel, Nxk);
}

}  // namespace

std::vector<tw_pack_args>& pack_calls() {
  static std::vector<tw_pack_args> list;
  return list;
}

std::vector<Call>& calls() {
  static std::vector<Call> list;
  return list;
}

tw_registry fake_registry() {
  return tw_generated_registry();
}

const tw_kernel& fake_kernel(const std::string& name) {
  const tw_kernel* kernel = tw_find_kernel(name.c_str());
  if (kernel == nullptr) throw std::invalid_argument("no fake kernel " + name);
  return *kernel;
}

}  // namespace tw::test

// Rates: as measured kernels relate to each other, MACs a cycle.
using namespace tw::test;  // NOLINT: the definitions below must stand outside of the namespace

extern "C" {

const tw_kernel tw_generated_kernels[] = {
    row("scalar_1x8", "scalar", run<0>, 0, kLhs1, kRhs8, 1, 8, 0.5),
    row("scalar_2x8", "scalar", run<1>, 0, kLhs1, kRhs8, 2, 8, 0.6),
    row("avx2_4x16", "avx2", run<2>, kAvx2, kLhs4, kRhs32, 4, 16, 30),
    row("vnni_1x32", "avx512_vnni", run<3>, kVnni, kLhs1, kRhs32, 1, 32, 40),
    row("vnni_4x32", "avx512_vnni", run<4>, kVnni, kLhs4, kRhs32, 4, 32, 58),
    row("vnni_8x32", "avx512_vnni", run<5>, kVnni, kLhs8, kRhs32, 8, 32, 62),
    row("vnni_8x32_again", "avx512_vnni", run<6>, kVnni, kLhs8, kRhs32, 8, 32, 62),
    row("dotprod_1x16", "neon_dotprod", run<7>, kDotprod, kLhs1, kRhs8Arm, 1, 16, 20),
    row("dotprod_4x8", "neon_dotprod", run<8>, kDotprod, kLhs4, kRhs8Arm, 4, 8, 28),
    row("i8mm_4x8", "neon_i8mm", run<9>, kI8mm, kLhs4, kRhs8Arm, 4, 8, 46),
    row("i8mm_8x8", "neon_i8mm", run<10>, kI8mm, kLhs8, kRhs8Arm, 8, 8, 57),
    {"sve2_4x1vl",
     kFamily,
     "sve2",
     "assembly",
     "dot",
     "specs/fake.yaml:1:2",
     run<11>,
     TW_FEATURE_SVE2,
     &kLhs4,
     &kRhsScalable,
     4,
     0,
     4,
     32,
     1,
     16,
     70,
     0,
     "unknown",
     "",
     0,
     0,
     0,
     TW_F32,
     0,
     nullptr,
     0,
     nullptr},
    in_order(row("i8mm_8x8_little", "neon_i8mm", run<12>, kI8mm, kLhs8, kRhs8Arm, 8, 8, 44)),
    in_order(row("i8mm_1x16_little", "neon_i8mm", run<13>, kI8mm, kLhs1, kRhs8Arm, 1, 16, 7)),
    {"f32_6x16", kOtherFamily, "avx512f", "assembly", "fma", "specs/fake.yaml:2:1",
     nullptr,    kAvx512,      &kLhs4,    &kRhs32,    6,     16,
     0,          32,           1,         16,         30,    0,
     "unknown",  "",           0,         0,          0,     TW_F32,
     0,          nullptr,      0,         nullptr},
    block_row("blocks_half", note_kernel<15>, kRhsHalf),
    block_row("blocks_brain", note_kernel<16>, kRhsBrain),
    block_row("blocks_float", note_kernel<17>, kRhsFloat),
};
const size_t tw_generated_kernel_count =
    sizeof tw_generated_kernels / sizeof tw_generated_kernels[0];

const tw_depthwise_kernel tw_generated_depthwise_kernels[] = {{}};
const size_t tw_generated_depthwise_kernel_count = 0;
const tw_attention_kernel tw_generated_attention_kernels[] = {{}};
const size_t tw_generated_attention_kernel_count = 0;

const tw_kernel tw_generated_decoders[] = {{}};
const size_t tw_generated_decoder_count = 0;
const tw_kernel tw_generated_parts[] = {{}};
const size_t tw_generated_part_count = 0;
const tw_packer tw_generated_packers[] = {
    {"lhs1", "lhs", "f32", "scalar", lhs_packer<1>, 0, &kLhs1, 0, 1},
    {"lhs4", "lhs", "f32", "scalar", lhs_packer<4>, 0, &kLhs4, 0, 1},
    {"lhs4_vnni", "lhs", "f32", "avx512_vnni", lhs_packer<4>, kVnni, &kLhs4, 0, 1},
    {"lhs8", "lhs", "f32", "scalar", lhs_packer<8>, 0, &kLhs8, 0, 1},
    {"rhs8_nxk", "rhs", "nxk", "scalar", rhs_packer<8, true>, 0, &kRhs8, 0, 1},
    {"rhs8_kxn", "rhs", "kxn", "scalar", rhs_packer<8, false>, 0, &kRhs8, 0, 1},
    {"rhs32_nxk", "rhs", "nxk", "scalar", rhs_packer<32, true>, 0, &kRhs32, 0, 1},
    {"rhs8_arm_nxk", "rhs", "nxk", "neon_i8mm", rhs_packer<8, true>, kI8mm, &kRhs8Arm, 0, 1},
    {"lhs_blocks", "lhs", "f32", "scalar", note_packer, 0, &kLhsBlocks, 0, 1},
    {"rhs_half_nxk", "rhs", "nxk", "scalar", note_packer, 0, &kRhsHalf, 0, 1},
    {"rhs_half_q4_0", "rhs", "q4_0", "scalar", note_packer, 0, &kRhsHalf, 0, 1},
    {"rhs_brain_nxk", "rhs", "nxk", "scalar", note_packer, 0, &kRhsBrain, 0, 1},
};
const size_t tw_generated_packer_count =
    sizeof tw_generated_packers / sizeof tw_generated_packers[0];

const tw_source tw_generated_sources[] = {
    source(TW_NXK, "nxk", TW_S4),           source(TW_NXK, "nxk", TW_F32),
    source(TW_KXN, "kxn", TW_S4),           source(TW_Q4_0, "q4_0", TW_S4, 32, 18),
    source(TW_Q8_0, "q8_0", TW_S8, 32, 34), source(TW_NXK_BF16, "nxk_bf16", TW_BF16),
    source(TW_Q4_1, "q4_1", TW_S4, 32, 20), source(TW_NBITS, "nbits", TW_S4)};
const size_t tw_generated_source_count =
    sizeof tw_generated_sources / sizeof tw_generated_sources[0];

const float fake_rates[sizeof tw_generated_kernels / sizeof tw_generated_kernels[0]] = {};
const tw_core tw_generated_cores[] = {
    {"old", "AMD", 25, 0, 1 << 19, 0, 1, fake_rates},
    {"new", "AMD", 26, 0, 1 << 20, 8192, 1, fake_rates},
    {"client", "Intel", 6, 0, 1 << 20, 3072, 2, fake_rates},
    {"server", "Intel", 6, TW_FEATURE_AVX512F, 1 << 21, 3072, 2, fake_rates},
};
const size_t tw_generated_core_count = sizeof tw_generated_cores / sizeof tw_generated_cores[0];
}
