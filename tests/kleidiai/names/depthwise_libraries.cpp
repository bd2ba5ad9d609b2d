#include <algorithm>

#include "kleidiai/names/depthwise.h"
#include "names.h"

// Ours, with the types of theirs.
extern "C" {
#define OURS(name) decltype(name) our_##name;
TW_KAI_FUNCTIONS(OURS)
#undef OURS
}

namespace tw::test {
namespace {

/// Calls that make a step of lines each, as threads share them.
template <typename Run, typename SourceOffset, typename DstOffset>
auto run_lines(Run run, SourceOffset source_offset, DstOffset dst_offset, size_t step) {
  return [=](const Planes& it, const uint8_t* in, const uint8_t* rhs, uint8_t* dst) {
    for (size_t row = 0; row < it.dst_rows; row += step) {
      const size_t first = row > it.top ? row - it.top : 0;
      run(in + source_offset(first, it.in_row_bytes), rhs, dst + dst_offset(row, it.dst_row_bytes),
          it.in_row_bytes, it.in_col_bytes, it.dst_row_bytes, it.dst_col_bytes, it.rows - first,
          it.dst_rows - row, it.left, it.top > row ? it.top - row : 0, 0, it.min, it.max);
    }
  };
}

template <typename Run>
auto run_plane(Run run) {
  return [=](const Planes& it, const uint8_t* in, const uint8_t* rhs, uint8_t* dst) {
    run(in, rhs, dst, it.channels, it.rows, it.cols, it.dst_rows, it.dst_cols, it.left, it.top,
        it.in_row_bytes, it.in_col_bytes, it.dst_row_bytes, it.dst_col_bytes, it.min, it.max);
  };
}

#define NUMBERS(prefix, name)                                                    \
  prefix##kai_get_filter_height_##name(), prefix##kai_get_filter_width_##name(), \
      prefix##kai_get_dst_size_##name(3, 5, 7)
#define LINES(prefix, name)                                                                   \
  DepthwiseName {                                                                             \
    true,                                                                                     \
        {NUMBERS(prefix, name), prefix##kai_get_m_step_##name(), prefix##kai_get_kr_##name(), \
         prefix##kai_get_src_offset_##name(3, 50), prefix##kai_get_dst_offset_##name(8, 50)}, \
        run_lines(prefix##kai_run_##name, prefix##kai_get_src_offset_##name,                  \
                  prefix##kai_get_dst_offset_##name, prefix##kai_get_m_step_##name())         \
  }
#define PLANES(prefix, name)                                          \
  DepthwiseName {                                                     \
    false, {NUMBERS(prefix, name)}, run_plane(prefix##kai_run_##name) \
  }
#define PACKER(prefix, name)                                                                     \
  TapPacker {                                                                                    \
    prefix##kai_rhs_get_dst_size_##name, [](size_t height, size_t width, size_t rhs_height,      \
                                            size_t channels, const void* rhs, const void* bias,  \
                                            void* packed) {                                      \
      prefix##kai_run_rhs_##name(height, width, rhs_height, width, channels, rhs, bias, packed); \
    }                                                                                            \
  }

}  // namespace

std::vector<Both<DepthwiseName>> depthwise_names() {
  std::vector<Both<DepthwiseName>> all;
  if (!runs_here("_sme")) return all;
#define BOTH_LINES(family, name) all.push_back({#name, LINES(, name), LINES(our_, name)});
#define BOTH_PLANES(family, name) all.push_back({#name, PLANES(, name), PLANES(our_, name)});
  TW_KAI_DEPTHWISE_LINES(BOTH_LINES)
  TW_KAI_DEPTHWISE_PLANES(BOTH_PLANES)
#undef BOTH_PLANES
#undef BOTH_LINES
  return all;
}

std::vector<Both<TapPacker>> tap_packers() {
  std::vector<Both<TapPacker>> all;
  if (!runs_here("_sme")) return all;
#define BOTH(name) all.push_back({"rhs_" #name, PACKER(, name), PACKER(our_, name)});
  BOTH(dwconv_pack_x32p1vlx1b_x32_x32_sme)
  BOTH(dwconv_pack_x16p1vlx1b_x16_x16_sme)
#undef BOTH
#define NAME(name) +1
  const size_t served = 0 TW_KAI_TAP_PACKERS(NAME);
#undef NAME
  return all.size() == served ? all : std::vector<Both<TapPacker>>();
}

}  // namespace tw::test
