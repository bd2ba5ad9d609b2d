#include "kleidiai/names/chunk_libraries.h"

#include "names.h"

// Ours, with the types of theirs.
extern "C" {
#define OURS(name) decltype(name) our_##name;
TW_KAI_FUNCTIONS(OURS)
#undef OURS
}

namespace tw::test {
namespace {

using OfChunks = std::function<size_t(size_t, const Chunks&)>;

OfChunks of_chunks(size_t (*of)(size_t, size_t, size_t)) {
  return [of](size_t at, const Chunks& k) { return of(at, k.count, k.length); };
}
OfChunks of_chunks(size_t (*of)(size_t, size_t)) {
  return [of](size_t at, const Chunks& k) { return of(at, k.length); };
}

/// With panels that the caller names.
OfChunks of_chunks(size_t (*of)(size_t, size_t, size_t, size_t, size_t), size_t step) {
  return [of, step](size_t at, const Chunks& k) { return of(at, k.length, step, 4, 1); };
}

std::function<size_t(const Chunks&)> stride_of(size_t (*of)(size_t, size_t)) {
  return [of](const Chunks& k) { return of(k.count, k.length); };
}
std::function<size_t(const Chunks&)> stride_of(size_t (*of)(size_t)) {
  return [of](const Chunks& k) { return of(k.length); };
}

std::function<size_t(size_t, size_t)> source_offset(size_t (*of)(size_t)) {
  return [of](size_t n, size_t) { return of(n); };
}
std::function<size_t(size_t, size_t)> source_offset(size_t (*of)(size_t, size_t)) {
  return of;
}

// Products.

auto run_of(void (*run)(size_t, size_t, size_t, size_t, const void*, const void*, void*, size_t,
                        float, float)) {
  return [run](size_t m, size_t n, const Chunks& k, const ChunkLhs& lhs, const void* rhs, void* dst,
               size_t stride, const Clamp& clamp) {
    run(m, n, k.count, k.length, lhs.at, rhs, dst, stride, clamp.min, clamp.max);
  };
}

kai_matmul_requantize32_params codes_of(const Clamp& clamp) {
  return {static_cast<int32_t>(clamp.min), static_cast<int32_t>(clamp.max), clamp.zero_point};
}

auto run_of(void (*run)(size_t, size_t, size_t, size_t, const void*, const void*, void*, size_t,
                        const kai_matmul_requantize32_params*)) {
  return [run](size_t m, size_t n, const Chunks& k, const ChunkLhs& lhs, const void* rhs, void* dst,
               size_t stride, const Clamp& clamp) {
    const auto params = codes_of(clamp);
    run(m, n, k.count, k.length, lhs.at, rhs, dst, stride, &params);
  };
}

auto run_of(void (*run)(size_t, size_t, size_t, const void*, const void*, void*, size_t, size_t,
                        const kai_matmul_requantize32_params*)) {
  return [run](size_t m, size_t n, const Chunks& k, const ChunkLhs& lhs, const void* rhs, void* dst,
               size_t stride, const Clamp& clamp) {
    const auto params = codes_of(clamp);
    run(m, n, k.length, lhs.at, rhs, dst, stride, 1, &params);
  };
}

#define ROW_MATMUL(prefix, name)                                                                \
  ChunkMatmul {                                                                                 \
    true, true, false, prefix##kai_get_m_step_##name(), prefix##kai_get_n_step_##name(),        \
        of_chunks(prefix##kai_get_lhs_offset_##name),                                           \
        of_chunks(prefix##kai_get_rhs_packed_offset_##name), prefix##kai_get_dst_offset_##name, \
        prefix##kai_get_dst_size_##name, run_of(prefix##kai_run_##name)                         \
  }

auto run_of(void (*run)(size_t, size_t, size_t, size_t, const void*, const void*, size_t,
                        const void*, void*, size_t, float, float)) {
  return [run](size_t m, size_t n, const Chunks& k, const ChunkLhs& lhs, const void* rhs, void* dst,
               size_t stride, const Clamp& clamp) {
    run(m, n, k.count, k.length, lhs.at, lhs.rows->pad, lhs.rows->offset, rhs, dst, stride,
        clamp.min, clamp.max);
  };
}

OfChunks of_pointers(size_t (*of)(size_t, size_t)) {
  return [of](size_t at, const Chunks& k) { return of(at, k.count * sizeof(void*)); };
}

#define INDIRECT_MATMUL(prefix, name)                                                           \
  ChunkMatmul {                                                                                 \
    false, false, true, prefix##kai_get_m_step_##name(), prefix##kai_get_n_step_##name(),       \
        of_pointers(prefix##kai_get_lhs_offset_##name),                                         \
        of_chunks(prefix##kai_get_rhs_packed_offset_##name), prefix##kai_get_dst_offset_##name, \
        prefix##kai_get_dst_size_##name, run_of(prefix##kai_run_##name)                         \
  }
#define CHUNK_MATMUL(prefix, name, alone)                                                       \
  ChunkMatmul {                                                                                 \
    alone, false, false, prefix##kai_get_m_step_##name(), prefix##kai_get_n_step_##name(),      \
        of_chunks(prefix##kai_get_lhs_packed_offset_##name),                                    \
        of_chunks(prefix##kai_get_rhs_packed_offset_##name), prefix##kai_get_dst_offset_##name, \
        prefix##kai_get_dst_size_##name, run_of(prefix##kai_run_##name)                         \
  }

// Packers of rows.

ChunkRowPacker row_packer(size_t (*step)(), OfChunks offset, OfChunks size,
                          void (*run)(size_t, size_t, size_t, const void* const*, size_t,
                                      const void*, void*)) {
  return {false, step(), std::move(offset), std::move(size),
          [run](size_t m, const Chunks& k, const ChunkRows& rows, void* packed) {
            run(m, k.count, k.length, rows.pointers.data(), rows.offset, rows.pad, packed);
          }};
}

ChunkRowPacker row_packer(size_t step, size_t (*offset)(size_t, size_t, size_t, size_t, size_t),
                          size_t (*size)(size_t, size_t, size_t, size_t, size_t),
                          void (*run)(size_t, size_t, size_t, size_t, size_t, size_t, const void*,
                                      size_t, void*)) {
  return {true, step, of_chunks(offset, step), of_chunks(size, step),
          [run, step](size_t m, const Chunks& k, const ChunkRows& rows, void* packed) {
            run(m, k.length, step, 4, 1, 0, rows.rows, rows.stride, packed);
          }};
}

// Packers of columns.

auto run_of(void (*run)(size_t, size_t, size_t, size_t, const void*, const void*, void*)) {
  return [run](size_t n, const Chunks& k, const ChunkColumns& from, void* packed) {
    run(n, k.count, k.length, from.stride, from.values, from.bias, packed);
  };
}

auto run_of(void (*run)(size_t, size_t, size_t, size_t, const void*, const void*, const void*,
                        void*, const kai_rhs_pack_qsi8cx_params*)) {
  return [run](size_t n, const Chunks& k, const ChunkColumns& from, void* packed) {
    const kai_rhs_pack_qsi8cx_params params{from.lhs_zero_point, from.multiplier};
    run(n, k.count, k.length, from.stride, from.values, from.bias, from.scales, packed, &params);
  };
}

auto run_of(void (*run)(size_t, size_t, size_t, size_t, size_t, size_t, size_t, const void*,
                        const void*, const void*, void*, size_t, const kai_rhs_pack_qsi8cx_params*),
            size_t step) {
  return [run, step](size_t n, const Chunks& k, const ChunkColumns& from, void* packed) {
    const kai_rhs_pack_qsi8cx_params params{from.lhs_zero_point, from.multiplier};
    run(1, n, k.length, step, 4, 1, from.stride, from.values, from.bias, from.scales, packed, 0,
        &params);
  };
}

size_t no_scales(size_t) {
  return 0;
}

#define COLUMN_PACKER(prefix, name, alone, scale_offset, ...)                                 \
  ChunkColumnPacker {                                                                         \
    alone, prefix##kai_get_n_step_##name(), source_offset(prefix##kai_get_rhs_offset_##name), \
        prefix##kai_get_bias_offset_##name, scale_offset,                                     \
        stride_of(prefix##kai_get_rhs_packed_stride_##name),                                  \
        of_chunks(prefix##kai_get_rhs_packed_offset_##name),                                  \
        of_chunks(prefix##kai_get_rhs_packed_size_##name), run_of(__VA_ARGS__)                \
  }

}  // namespace

std::vector<Both<ChunkMatmul>> chunk_matmuls() {
  std::vector<Both<ChunkMatmul>> all;
#define BOTH(name, alone) \
  if (runs_here(#name))   \
    all.push_back({#name, CHUNK_MATMUL(, name, alone), CHUNK_MATMUL(our_, name, alone)});
#define IN_CHUNKS(family, name) BOTH(name, false)
#define ALONE(family, name) BOTH(name, true)
  TW_KAI_CHUNK_MATMULS(IN_CHUNKS)
  TW_KAI_STATIC_CHUNK_MATMULS(IN_CHUNKS)
  TW_KAI_STATIC_MATMULS(ALONE)
#define ROW(family, name) \
  if (runs_here(#name)) all.push_back({#name, ROW_MATMUL(, name), ROW_MATMUL(our_, name)});
  TW_KAI_STATIC_ROW_MATMULS(ROW)
#undef ROW
#define INDIRECT(family, name) \
  if (runs_here(#name))        \
    all.push_back({#name, INDIRECT_MATMUL(, name), INDIRECT_MATMUL(our_, name)});
  TW_KAI_INDIRECT_MATMULS(INDIRECT)
#undef INDIRECT
#undef ALONE
#undef IN_CHUNKS
#undef BOTH
  return all;
}

std::vector<Both<ChunkRowPacker>> chunk_row_packers() {
  std::vector<Both<ChunkRowPacker>> all;
#define POINTERS(prefix, name)                                                                   \
  row_packer(prefix##kai_get_m_step_##name, of_chunks(prefix##kai_get_lhs_packed_offset_##name), \
             of_chunks(prefix##kai_get_lhs_packed_size_##name), prefix##kai_run_##name)
#define IN_CHUNKS(name) \
  if (runs_here(#name)) all.push_back({#name, POINTERS(, name), POINTERS(our_, name)});
  TW_KAI_CHUNK_ROW_PACKERS(IN_CHUNKS)
#undef IN_CHUNKS
#undef POINTERS
  if (!runs_here("_sme")) return all;
  const size_t step = kai_get_mr_matmul_clamp_qai8_qai8p2vlx4_qsi8cxpsb2vlx4_2vlx2vl_sme2_mopa();
#define ROWS(prefix, name)                                   \
  row_packer(step, prefix##kai_get_lhs_packed_offset_##name, \
             prefix##kai_get_lhs_packed_size_##name, prefix##kai_run_##name)
#define ALONE(name) all.push_back({#name, ROWS(, name), ROWS(our_, name)});
  TW_KAI_STATIC_LHS_PACKERS(ALONE)
#undef ALONE
#undef ROWS
  return all;
}

std::vector<Both<ChunkColumnPacker>> chunk_column_packers() {
  std::vector<Both<ChunkColumnPacker>> all;
#define FLOATS(prefix, name) COLUMN_PACKER(prefix, name, false, no_scales, prefix##kai_run_##name)
#define CODES(prefix, name) \
  COLUMN_PACKER(prefix, name, false, prefix##kai_get_scale_offset_##name, prefix##kai_run_##name)
#define ALONE(prefix, name)                                                                      \
  COLUMN_PACKER(prefix, name, true, prefix##kai_get_scale_offset_##name, prefix##kai_run_##name, \
                prefix##kai_get_n_step_##name())
#define BOTH(name, of) \
  if (runs_here(#name)) all.push_back({#name, of(, name), of(our_, name)});
#define BOTH_FLOATS(name) BOTH(name, FLOATS)
#define BOTH_CODES(name) BOTH(name, CODES)
#define BOTH_ALONE(name) BOTH(name, ALONE)
  TW_KAI_CHUNK_PACKERS(BOTH_FLOATS)
  TW_KAI_STATIC_CHUNK_PACKERS(BOTH_CODES)
  TW_KAI_STATIC_RHS_PACKERS(BOTH_ALONE)
#undef BOTH_ALONE
#undef BOTH_CODES
#undef BOTH_FLOATS
#undef BOTH
#undef ALONE
#undef CODES
#undef FLOATS
  return all;
}

}  // namespace tw::test
