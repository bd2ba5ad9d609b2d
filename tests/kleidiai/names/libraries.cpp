#include "kleidiai/names/libraries.h"

#include <sys/prctl.h>

#include <type_traits>

#include "kleidiai/names/float_libraries.h"
#include "kleidiai/names/operands.h"
#include "names.h"

// Ours, with the types of theirs.
extern "C" {
#define OURS(name) decltype(name) our_##name;
TW_KAI_FUNCTIONS(OURS)
#undef OURS
}

namespace tw::test {
namespace {

template <typename... Arguments>
constexpr bool has_arguments(void (*)(Arguments...), size_t count) {
  return sizeof...(Arguments) == count;
}

/// By how many arguments `run` has: those of families with blocks have one more.
template <typename Kernel>
Matmul matmul(const Kernel& its, bool f16) {
  constexpr bool blocks =
      std::is_invocable_v<decltype(its.run_matmul), size_t, size_t, size_t, size_t, const void*,
                          const void*, float*, size_t, size_t, float, float>;
  constexpr bool has_table =
      std::is_invocable_v<decltype(its.run_matmul), size_t, size_t, size_t, const void*,
                          const void*, float*, size_t, size_t, float, float, const int32_t*>;
  Matmul all;
  all.dst_bytes = its.get_dst_size(1, 1);
  all.f16 = f16;
  all.m_step = its.get_m_step();
  all.n_step = its.get_n_step();
  all.mr = its.get_mr();
  all.nr = its.get_nr();
  all.kr = its.get_kr();
  all.sr = its.get_sr();
  all.lhs_offset = [its](size_t m, size_t k, size_t bl) {
    if constexpr (std::is_invocable_v<decltype(its.get_lhs_packed_offset), size_t, size_t>) {
      return (void)bl, its.get_lhs_packed_offset(m, k);
    } else {
      return its.get_lhs_packed_offset(m, k, bl);
    }
  };
  all.rhs_offset = [its](size_t n, size_t k, size_t bl) {
    if constexpr (blocks) {
      return its.get_rhs_packed_offset(n, k, bl);
    } else {
      return (void)bl, its.get_rhs_packed_offset(n, k);
    }
  };
  all.dst_offset = its.get_dst_offset;
  all.dst_size = its.get_dst_size;
  all.run = [its](size_t m, size_t n, size_t k, size_t bl, const void* lhs, const void* rhs,
                  void* dst, size_t rows, size_t columns, float min, float max,
                  [[maybe_unused]] const int32_t* table) {
    float* const to = static_cast<float*>(dst);
    if constexpr (has_table) {
      its.run_matmul(m, n, k, lhs, rhs, to, rows, columns, min, max, table);
    } else if constexpr (blocks) {
      its.run_matmul(m, n, k, bl, lhs, rhs, to, rows, columns, min, max);
    } else {
      its.run_matmul(m, n, k, lhs, rhs, to, rows, columns, min, max);
    }
  };
  return all;
}

#define MATMUL(family, prefix, name)                                                          \
  matmul(kai_##family##_ukernel{prefix##kai_get_m_step_##name, prefix##kai_get_n_step_##name, \
                                prefix##kai_get_mr_##name, prefix##kai_get_nr_##name,         \
                                prefix##kai_get_kr_##name, prefix##kai_get_sr_##name,         \
                                prefix##kai_get_lhs_packed_offset_##name,                     \
                                prefix##kai_get_rhs_packed_offset_##name,                     \
                                prefix##kai_get_dst_offset_##name,                            \
                                prefix##kai_get_dst_size_##name, prefix##kai_run_##name},     \
         std::string(#name).starts_with("matmul_clamp_f16"))

// Packers, by the types of their functions.

using Step = size_t(size_t);
using Offset = size_t(size_t, size_t);

using LhsSize = size_t(size_t m, size_t k, size_t mr, size_t kr, size_t sr);
template <typename Value>
using LhsRun = void(size_t m, size_t k, size_t mr, size_t kr, size_t sr, size_t start,
                    const Value* lhs, size_t stride, void* packed);

template <typename Value>
LhsPacker lhs_packer(Step* step, Offset* offset, LhsSize* packed_offset, LhsSize* packed_size,
                     LhsRun<Value>* run) {
  const auto of_shape = [](LhsSize* size) {
    return [size](size_t m, size_t k, const PanelShape& shape) {
      return size(m, k, shape.panel, shape.kr, shape.sr);
    };
  };
  return {false,
          step,
          offset,
          of_shape(packed_offset),
          of_shape(packed_size),
          [run](size_t m, size_t k, const PanelShape& shape, size_t start, const void* lhs,
                size_t stride, void* packed) {
            run(m, k, shape.panel, shape.kr, shape.sr, start, static_cast<const Value*>(lhs),
                stride, packed);
          }};
}

using LhsBlockSize = size_t(size_t m, size_t k, size_t bl, size_t mr, size_t kr, size_t sr);
template <typename Value>
using LhsBlockRun = void(size_t m, size_t k, size_t bl, size_t mr, size_t kr, size_t sr,
                         size_t start, const Value* lhs, size_t stride, void* packed);

template <typename Value>
LhsPacker lhs_packer(Step* step, Offset* offset, LhsBlockSize* packed_offset,
                     LhsBlockSize* packed_size, LhsBlockRun<Value>* run) {
  const auto of_shape = [](LhsBlockSize* size) {
    return [size](size_t m, size_t k, const PanelShape& shape) {
      return size(m, k, shape.bl, shape.panel, shape.kr, shape.sr);
    };
  };
  return {true,
          step,
          offset,
          of_shape(packed_offset),
          of_shape(packed_size),
          [run](size_t m, size_t k, const PanelShape& shape, size_t start, const void* lhs,
                size_t stride, void* packed) {
            run(m, k, shape.bl, shape.panel, shape.kr, shape.sr, start,
                static_cast<const Value*>(lhs), stride, packed);
          }};
}

using RhsStride = size_t(size_t k, size_t nr, size_t kr, size_t sr);
using RhsSize = size_t(size_t n, size_t k, size_t nr, size_t kr, size_t sr);
template <typename Code, typename Params>
using RhsRun = void(size_t groups, size_t n, size_t k, size_t nr, size_t kr, size_t sr,
                    const Code* rhs, const float* bias, const float* scale, void* packed,
                    size_t extra, const Params* params);

kai_rhs_pack_qs4cxs1s0_param params_of(const RhsSource& source,
                                       const kai_rhs_pack_qs4cxs1s0_param*) {
  return {1, source.unsigned_codes ? uint8_t{8} : uint8_t{0}};
}

kai_rhs_pack_qsi8cx_params params_of(const RhsSource&, const kai_rhs_pack_qsi8cx_params*) {
  return {1, 1};
}

template <typename Code, typename Params>
RhsPacker rhs_packer(Step* step, Offset* offset, RhsStride* stride, RhsSize* packed_offset,
                     RhsSize* packed_size, RhsRun<Code, Params>* run) {
  const auto of_shape = [](RhsSize* size) {
    return [size](size_t n, size_t k, const PanelShape& shape) {
      return size(n, k, shape.panel, shape.kr, shape.sr);
    };
  };
  return {step,
          offset,
          [stride](size_t k, const PanelShape& shape) {
            return stride(k, shape.panel, shape.kr, shape.sr);
          },
          of_shape(packed_offset),
          of_shape(packed_size),
          [run](size_t n, size_t k, const PanelShape& shape, const RhsSource& from, void* packed) {
            const Params params = params_of(from, static_cast<const Params*>(nullptr));
            run(1, n, k, shape.panel, shape.kr, shape.sr, static_cast<const Code*>(from.codes),
                from.bias, static_cast<const float*>(from.scales), packed, 0, &params);
          }};
}

using TableRun = void(size_t groups, size_t n, size_t k, size_t nr, size_t kr, size_t sr,
                      const uint8_t* rhs, const float* bias, const float* scale, void* packed,
                      size_t extra, const kai_rhs_pack_qs4cxs1s0_param* params,
                      const int32_t* table);

RhsPacker rhs_packer(Step* step, Offset* offset, RhsStride* stride, RhsSize* packed_offset,
                     RhsSize* packed_size, TableRun* run) {
  using Params = kai_rhs_pack_qs4cxs1s0_param;
  RhsRun<uint8_t, Params>* const none = nullptr;
  RhsPacker packer = rhs_packer(step, offset, stride, packed_offset, packed_size, none);
  packer.run = [run](size_t n, size_t k, const PanelShape& shape, const RhsSource& from,
                     void* packed) {
    const Params params = {1, 2};
    run(1, n, k, shape.panel, shape.kr, shape.sr, static_cast<const uint8_t*>(from.codes),
        from.bias, static_cast<const float*>(from.scales), packed, 0, &params, from.table);
  };
  return packer;
}

using BlockStride = size_t(size_t k, size_t nr, size_t kr, size_t sr, size_t bl,
                           kai_datatype scale_dt);
using BlockSize = size_t(size_t n, size_t k, size_t nr, size_t kr, size_t sr, size_t bl,
                         kai_datatype scale_dt);
template <typename Params>
using BlockRun = void(size_t groups, size_t n, size_t k, size_t nr, size_t kr, size_t sr, size_t bl,
                      const uint8_t* rhs, size_t rhs_stride, const float* bias, const void* scale,
                      size_t scale_stride, void* packed, size_t extra, const Params* params);

template <typename Params>
RhsPacker rhs_packer(Step* step, Offset* offset, BlockStride* stride, BlockSize* packed_offset,
                     BlockSize* packed_size, BlockRun<Params>* run) {
  const auto of_shape = [](BlockSize* size) {
    return [size](size_t n, size_t k, const PanelShape& shape) {
      return size(n, k, shape.panel, shape.kr, shape.sr, shape.bl, kai_dt_bf16);
    };
  };
  return {step,
          offset,
          [stride](size_t k, const PanelShape& shape) {
            return stride(k, shape.panel, shape.kr, shape.sr, shape.bl, kai_dt_bf16);
          },
          of_shape(packed_offset),
          of_shape(packed_size),
          [run](size_t n, size_t k, const PanelShape& shape, const RhsSource& from, void* packed) {
            const Params params = {1, from.unsigned_codes ? uint8_t{8} : uint8_t{0}, kai_dt_bf16};
            run(1, n, k, shape.panel, shape.kr, shape.sr, shape.bl,
                static_cast<const uint8_t*>(from.codes), from.stride, from.bias, from.scales,
                from.scale_stride, packed, 0, &params);
          }};
}

using RowStride = size_t(size_t k, size_t nr, size_t kr, size_t bl);
using RowSize = size_t(size_t n, size_t k, size_t nr, size_t kr, size_t bl);
using RowRun = void(size_t groups, size_t n, size_t k, size_t nr, size_t kr, size_t sr, size_t bl,
                    const uint8_t* rhs, const float* bias, void* packed, size_t extra,
                    const kai_rhs_pack_qs4cxs1s0_param* params);

/// Any number of columns is a step of theirs.
RhsPacker row_packer(Offset* offset, RowStride* stride, RowSize* packed_offset,
                     RowSize* packed_size, RowRun* run) {
  const auto of_shape = [](RowSize* size) {
    return [size](size_t n, size_t k, const PanelShape& shape) {
      return size(n, k, shape.panel, shape.kr, shape.bl);
    };
  };
  return {[](size_t nr) { return nr; },
          offset,
          [stride](size_t k, const PanelShape& shape) {
            return stride(k, shape.panel, shape.kr, shape.bl);
          },
          of_shape(packed_offset),
          of_shape(packed_size),
          [run](size_t n, size_t k, const PanelShape& shape, const RhsSource& from, void* packed) {
            const kai_rhs_pack_qs4cxs1s0_param params = {1, 8};
            run(1, n, k, shape.panel, shape.kr, shape.sr, shape.bl,
                static_cast<const uint8_t*>(from.codes), from.bias, packed, 0, &params);
          }};
}

#define LHS_PACKER(prefix, name)                                                               \
  lhs_packer(prefix##kai_get_m_step_##name, prefix##kai_get_lhs_offset_##name,                 \
             prefix##kai_get_lhs_packed_offset_##name, prefix##kai_get_lhs_packed_size_##name, \
             prefix##kai_run_##name)
#define RHS_PACKER(prefix, name)                                                                 \
  rhs_packer(prefix##kai_get_n_step_##name, prefix##kai_get_rhs_offset_##name,                   \
             prefix##kai_get_rhs_packed_stride_##name, prefix##kai_get_rhs_packed_offset_##name, \
             prefix##kai_get_rhs_packed_size_##name, prefix##kai_run_##name)
#define ROW_PACKER(prefix, name)                                                               \
  row_packer(prefix##kai_get_rhs_offset_##name, prefix##kai_get_rhs_packed_stride_##name,      \
             prefix##kai_get_rhs_packed_offset_##name, prefix##kai_get_rhs_packed_size_##name, \
             prefix##kai_run_##name)

}  // namespace

static int vector_bytes(int get_length) {
  const int length = prctl(get_length);
  return length > 0 ? length & PR_SVE_VL_LEN_MASK : 0;
}

bool runs_here(const std::string& name) {
  constexpr int get_streaming_length = 64;  // PR_SME_GET_VL, which older headers do not have
  const auto has = [&](const char* part) { return name.find(part) != std::string::npos; };
  if (has("_sme")) return vector_bytes(get_streaming_length) > 0;
  if (!has("_sve")) return true;
  return has("vlx1b") ? vector_bytes(PR_SVE_GET_VL) > 0 : vector_bytes(PR_SVE_GET_VL) == 32;
}

const std::vector<Both<Matmul>>& matmuls() {
  static const std::vector<Both<Matmul>> all = [] {
    std::vector<Both<Matmul>> those;
#define BOTH(family, name) \
  if (runs_here(#name))    \
    those.push_back({#name, MATMUL(family, , name), MATMUL(family, our_, name)});
    TW_KAI_MATMULS(BOTH)
#undef BOTH
    return those;
  }();
  return all;
}

const std::vector<Both<LhsPacker>>& lhs_packers() {
#define BOTH(name) {#name, LHS_PACKER(, name), LHS_PACKER(our_, name)},
  static const std::vector<Both<LhsPacker>> all = [] {
    std::vector<Both<LhsPacker>> those = {TW_KAI_LHS_PACKERS(BOTH) TW_KAI_LHS_BLOCK_PACKERS(BOTH)};
    for (Both<LhsPacker>& both : those) {
      if (rows_of(both.name).apart) both.theirs.takes_all = both.ours.takes_all = false;
    }
    return those;
  }();
#undef BOTH
  return all;
}

const std::vector<Both<LhsPacker>>& float_lhs_packers() {
  static const std::vector<Both<LhsPacker>> all = [] {
    std::vector<Both<LhsPacker>> those;
#define BOTH(name) \
  if (runs_here(#name)) those.push_back({#name, LHS_PACKER(, name), LHS_PACKER(our_, name)});
    TW_KAI_FLOAT_LHS_PACKERS(BOTH)
#undef BOTH
    return those;
  }();
  return all;
}

const std::vector<Both<RhsPacker>>& rhs_packers() {
#define BOTH(name) {#name, RHS_PACKER(, name), RHS_PACKER(our_, name)},
#define BOTH_OF_ROWS(name) {#name, ROW_PACKER(, name), ROW_PACKER(our_, name)},
  static const std::vector<Both<RhsPacker>> all = {TW_KAI_RHS_PACKERS(BOTH)
                                                       TW_KAI_RHS_ROW_PACKERS(BOTH_OF_ROWS)};
#undef BOTH_OF_ROWS
#undef BOTH
  return all;
}

}  // namespace tw::test
