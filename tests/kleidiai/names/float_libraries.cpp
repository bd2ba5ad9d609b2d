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

using DstOffset = size_t(size_t m, size_t n, size_t stride);

/// Rows that are not packed.
FloatMatmul float_matmul(size_t m_step, size_t n_step, size_t (*lhs_offset)(size_t, size_t),
                         void (*run)(size_t, size_t, size_t, const void*, size_t, const void*,
                                     void*, size_t, size_t, float, float)) {
  FloatMatmul all;
  all.m_step = m_step;
  all.n_step = n_step;
  all.lhs_offset = [lhs_offset](size_t m, size_t, size_t stride) { return lhs_offset(m, stride); };
  all.run = run;
  return all;
}

/// Panels of `mr` rows.
FloatMatmul float_matmul(size_t m_step, size_t n_step, size_t mr,
                         size_t (*lhs_offset)(size_t, size_t),
                         void (*run)(size_t, size_t, size_t, const void*, const void*, void*,
                                     size_t, size_t, float, float)) {
  FloatMatmul all;
  all.m_step = m_step;
  all.n_step = n_step;
  all.mr = mr;
  all.lhs_offset = [lhs_offset](size_t m, size_t k, size_t) { return lhs_offset(m, k); };
  all.run = [run](size_t m, size_t n, size_t k, const void* lhs, size_t, const void* rhs, void* dst,
                  size_t rows, size_t columns, float min,
                  float max) { run(m, n, k, lhs, rhs, dst, rows, columns, min, max); };
  return all;
}

FloatMatmul with(FloatMatmul all, size_t nr, size_t kr, size_t sr,
                 size_t (*rhs_offset)(size_t, size_t), DstOffset* dst_offset,
                 size_t (*dst_size)(size_t, size_t)) {
  all.nr = nr;
  all.kr = kr;
  all.sr = sr;
  all.rhs_offset = rhs_offset;
  all.dst_offset = dst_offset;
  all.dst_size = dst_size;
  return all;
}

#define WITH_OTHERS(prefix, name, matmul)                                     \
  with(matmul, prefix##kai_get_nr_##name(), prefix##kai_get_kr_##name(),      \
       prefix##kai_get_sr_##name(), prefix##kai_get_rhs_packed_offset_##name, \
       prefix##kai_get_dst_offset_##name, prefix##kai_get_dst_size_##name)
#define FLOAT_MATMUL(prefix, name)                                                           \
  WITH_OTHERS(prefix, name,                                                                  \
              float_matmul(prefix##kai_get_m_step_##name(), prefix##kai_get_n_step_##name(), \
                           prefix##kai_get_lhs_offset_##name, prefix##kai_run_##name))
#define PACKED_FLOAT_MATMUL(prefix, name)                                                         \
  WITH_OTHERS(prefix, name,                                                                       \
              float_matmul(prefix##kai_get_m_step_##name(), prefix##kai_get_n_step_##name(),      \
                           prefix##kai_get_mr_##name(), prefix##kai_get_lhs_packed_offset_##name, \
                           prefix##kai_run_##name))

// So KleidiAI calls it, though its rows are not packed.
#define kai_get_lhs_offset_matmul_clamp_f16_f16_f16p2vlx2b_1x16vl_sme2_dot \
  kai_get_lhs_packed_offset_matmul_clamp_f16_f16_f16p2vlx2b_1x16vl_sme2_dot
#define our_kai_get_lhs_offset_matmul_clamp_f16_f16_f16p2vlx2b_1x16vl_sme2_dot \
  our_kai_get_lhs_packed_offset_matmul_clamp_f16_f16_f16p2vlx2b_1x16vl_sme2_dot

/// Rows of n: columns begin at the same place whatever the stride.
std::function<size_t(size_t, size_t)> offset(size_t (*of)(size_t n)) {
  return [of](size_t n, size_t) { return of(n); };
}
std::function<size_t(size_t, size_t)> offset(size_t (*of)(size_t n, size_t stride)) {
  return of;
}

/// "f32p8x1biasf32": after the x.
size_t kr_of(const std::string& name) {
  const size_t panel = name.find("p", name.find("xn_") + name.find("xk_") + 4);
  return static_cast<size_t>(name[name.find('x', panel) + 1] - '0');
}

std::function<size_t(size_t, size_t)> sized(size_t (*of)(size_t n, size_t k), size_t, size_t) {
  return of;
}
/// Those that are told the shape of panels.
std::function<size_t(size_t, size_t)> sized(size_t (*of)(size_t n, size_t k, size_t nr, size_t kr),
                                            size_t nr, size_t kr) {
  return [=](size_t n, size_t k) { return of(n, k, nr, kr); };
}

#define SIZED(prefix, function, name) \
  sized(prefix##kai_get_##function##_##name, prefix##kai_get_n_step_##name(), kr_of(#name))
#define FLOAT_PACKER(prefix, name)                                                            \
  {                                                                                           \
    prefix##kai_get_n_step_##name(), kr_of(#name), offset(prefix##kai_get_rhs_offset_##name), \
        prefix##kai_get_bias_offset_##name, SIZED(prefix, rhs_packed_offset, name),           \
        SIZED(prefix, rhs_packed_size, name), prefix##kai_run_##name                          \
  }

}  // namespace

const std::vector<Both<FloatMatmul>>& float_matmuls() {
  static const std::vector<Both<FloatMatmul>> all = [] {
    std::vector<Both<FloatMatmul>> those;
#define BOTH(family, name) \
  if (runs_here(#name)) those.push_back({#name, FLOAT_MATMUL(, name), FLOAT_MATMUL(our_, name)});
#define BOTH_PACKED(family, name) \
  if (runs_here(#name))           \
    those.push_back({#name, PACKED_FLOAT_MATMUL(, name), PACKED_FLOAT_MATMUL(our_, name)});
    TW_KAI_FLOAT_MATMULS(BOTH)
    TW_KAI_PACKED_FLOAT_MATMULS(BOTH_PACKED)
#undef BOTH_PACKED
#undef BOTH
    return those;
  }();
  return all;
}

const std::vector<Both<FloatPacker>>& float_packers() {
  static const std::vector<Both<FloatPacker>> all = [] {
    std::vector<Both<FloatPacker>> those;
#define BOTH(name) \
  if (runs_here(#name)) those.push_back({#name, FLOAT_PACKER(, name), FLOAT_PACKER(our_, name)});
    TW_KAI_FLOAT_RHS_PACKERS(BOTH)
#undef BOTH
    return those;
  }();
  return all;
}

std::vector<PackedStride> packed_strides() {
#define BOTH(name) \
  PackedStride{kai_get_rhs_packed_stride_##name, our_kai_get_rhs_packed_stride_##name}
  std::vector<PackedStride> all = {
      BOTH(rhs_pack_kxn_x32p16x1b_x32_x32_neon), BOTH(rhs_pack_nxk_x32p16x1bx32_x32_x32_neon),
      BOTH(rhs_pack_kxn_x16p32x1b_x16_x16_neon), BOTH(rhs_pack_nxk_x16p32x1bx16_x16_x16_neon),
      BOTH(rhs_pack_kxn_bf16p12x4biasf16_f16_neon)};
  const std::vector<PackedStride> of_sme = {BOTH(rhs_pack_kxn_f32p2vlx1biasf32_f32_f32_sme),
                                            BOTH(rhs_pack_nxk_f32p2vlx1biasf32_f32_f32_sme),
                                            BOTH(rhs_pack_kxn_x16p2vlx2b_x16_x16_sme),
                                            BOTH(rhs_pack_nxk_x16p2vlx2b_x16_x16_sme),
                                            BOTH(rhs_pack_kxn_f32p16vlx1b_f32_f32_sme),
                                            BOTH(rhs_pack_kxn_bf16p2vlx2b_f32_x32_sme)};
#undef BOTH
  if (runs_here("_sme")) all.insert(all.end(), of_sme.begin(), of_sme.end());
  return all;
}

}  // namespace tw::test
