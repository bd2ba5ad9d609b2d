#include "kleidiai/names/float_libraries.h"

#include "names.h"

// Ours, with the types of theirs.
extern "C" {
#define OURS(name) decltype(name) our_##name;
TW_KAI_FUNCTIONS(OURS)
#undef OURS
}

namespace tw::test {
namespace {

#define FLOAT_MATMUL(prefix, name)                                                                 \
  {                                                                                                \
    prefix##kai_get_m_step_##name(), prefix##kai_get_n_step_##name(), prefix##kai_get_nr_##name(), \
        prefix##kai_get_kr_##name(), prefix##kai_get_sr_##name(),                                  \
        prefix##kai_get_lhs_offset_##name, prefix##kai_get_rhs_packed_offset_##name,               \
        prefix##kai_get_dst_offset_##name, prefix##kai_get_dst_size_##name, prefix##kai_run_##name \
  }

/// Rows of n: columns begin at the same place whatever the stride.
std::function<size_t(size_t, size_t)> offset(size_t (*of)(size_t n)) {
  return [of](size_t n, size_t) { return of(n); };
}
std::function<size_t(size_t, size_t)> offset(size_t (*of)(size_t n, size_t stride)) {
  return of;
}

#define FLOAT_PACKER(prefix, name)                                                    \
  {                                                                                   \
    prefix##kai_get_n_step_##name(), offset(prefix##kai_get_rhs_offset_##name),       \
        prefix##kai_get_bias_offset_##name, prefix##kai_get_rhs_packed_offset_##name, \
        prefix##kai_get_rhs_packed_size_##name, prefix##kai_run_##name                \
  }

}  // namespace

const std::vector<Both<FloatMatmul>>& float_matmuls() {
#define BOTH(family, name) {#name, FLOAT_MATMUL(, name), FLOAT_MATMUL(our_, name)},
  static const std::vector<Both<FloatMatmul>> all = {TW_KAI_FLOAT_MATMULS(BOTH)};
#undef BOTH
  return all;
}

const std::vector<Both<FloatPacker>>& float_packers() {
#define BOTH(name) {#name, FLOAT_PACKER(, name), FLOAT_PACKER(our_, name)},
  static const std::vector<Both<FloatPacker>> all = {TW_KAI_FLOAT_RHS_PACKERS(BOTH)};
#undef BOTH
  return all;
}

std::vector<PackedStride> packed_strides() {
#define BOTH(name)                                                         \
  PackedStride {                                                           \
    kai_get_rhs_packed_stride_##name, our_kai_get_rhs_packed_stride_##name \
  }
  return {BOTH(rhs_pack_kxn_x32p16x1b_x32_x32_neon), BOTH(rhs_pack_nxk_x32p16x1bx32_x32_x32_neon),
          BOTH(rhs_pack_kxn_x16p32x1b_x16_x16_neon), BOTH(rhs_pack_nxk_x16p32x1bx16_x16_x16_neon)};
#undef BOTH
}

}  // namespace tw::test
