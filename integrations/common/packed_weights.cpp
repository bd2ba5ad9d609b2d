#include "integrations/common/packed_weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <new>

#include "integrations/common/cache.h"
#include "integrations/common/pages.h"
#include "tilewright/tilewright.hpp"

namespace tw {

namespace {

/// As files are mapped over it.
AlignedMemory paged_memory(size_t bytes) {
  const size_t pages = whole_huge_pages(bytes);
  AlignedMemory made(static_cast<uint8_t*>(allocate_pages(pages)), FreeMemory{pages});
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

size_t scale_bytes(const tw_layout& layout) {
  switch (layout.block_scales) {
    case TW_SCALES_F16:
    case TW_SCALES_BF16:
      return 2;
    case TW_SCALES_E8M0:
      return 1;
    default:  // of columns, too
      return sizeof(float);
  }
}

/// Of all that packing reads, and of how it reads it.
Hash hash_of_source(const tw_rhs_source& source, const tw_layout& layout, const Threads& threads) {
  static_assert(sizeof source == 120, "what is new in it has to be hashed");
  const size_t scale = scale_bytes(layout), zero = source.order == TW_NBITS ? 1 : scale;
  const auto hash_if = [&](const void* data, size_t bytes) {
    return data != nullptr ? hash_of(data, bytes, threads) : Hash{};
  };
  const Hash parts[] = {
      hash_if(source.data, source.data_bytes),
      hash_if(source.scales, source.scale_count * scale),
      hash_if(source.bias, source.bias_count * sizeof(int32_t)),
      hash_if(source.zero_points, source.zero_point_count * zero),
      {static_cast<uint64_t>(source.order), source.stride},
      {static_cast<uint64_t>(source.unsigned_nibbles), source.scale_stride},
      {static_cast<uint64_t>(source.lhs_zero_point), 0},
      {std::bit_cast<uint32_t>(source.lhs_scale), std::bit_cast<uint32_t>(source.dst_scale)}};
  return hash_of(parts, sizeof parts, threads);
}

const char* family_of(const tw_plan* plan) {
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  tilewright::check(tw_plan_segments(plan, 1, segments, &count));
  return segments[0].kernel->family;
}

}  // namespace

void FreeMemory::operator()(uint8_t* memory) const {
  if (pages != 0) {
    free_pages(memory, pages);
  } else {
    std::free(memory);
  }
}

AlignedMemory aligned_memory(size_t bytes) {
  AlignedMemory made(static_cast<uint8_t*>(std::aligned_alloc(kMemoryAlignment, aligned(bytes))));
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

AlignedMemory packed_memory(const PackedShape& shape, const tw_rhs_source& source,
                            const Threads& threads, size_t bytes,
                            const std::function<void(uint8_t*)>& pack) {
  const std::string folder = cache_folder();
  if (folder.empty()) {
    AlignedMemory memory = aligned_memory(bytes);
    pack(memory.get());
    return memory;
  }
  const CacheKey key = {fmt::format("{}-{}x{}", shape.family, shape.n, shape.k), shape.layout,
                        hash_of_source(source, shape.layout, threads)};
  AlignedMemory memory = paged_memory(bytes);
  const CacheFile file(folder, key, bytes, threads);
  file.fill(key.shape.c_str(), memory.get(), [&] { pack(memory.get()); });
  return memory;
}

void pack_weights(const tw_rhs_source& source, const Threads& threads, PackedWeights& weights) {
  const tw_plan* plan = weights.plan.get();
  const PackedShape shape = {family_of(plan), weights.n, weights.k, *tw_plan_rhs_layout(plan)};
  weights.bytes = tw_rhs_bytes(plan);
  weights.packed = packed_memory(shape, source, threads, weights.bytes, [&](uint8_t* packed) {
    tilewright::FirstFailure failure;
    for_slices(threads, tilewright::rhs_slices(plan), [&](size_t slice, size_t) {
      failure.note(tw_pack_rhs(plan, &source, packed, weights.bytes, slice));
    });
    failure.check();
  });
}

bool is_portable(const tw_plan* plan, size_t rows) {
  return std::ranges::any_of(std::initializer_list<size_t>{1, rows}, [plan](size_t m) {
    tw_segment segments[TW_MAX_SEGMENTS];
    size_t count = 0;
    tw_plan_segments(plan, m, segments, &count);
    return std::any_of(segments, segments + count,
                       [](const tw_segment& segment) { return segment.kernel->features == 0; });
  });
}

}  // namespace tw
