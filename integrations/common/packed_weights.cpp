#include "integrations/common/packed_weights.h"

#include <algorithm>
#include <cstdlib>
#include <new>

#include "tilewright/tilewright.hpp"

namespace tw {

void FreeMemory::operator()(uint8_t* memory) const {
  std::free(memory);
}

AlignedMemory aligned_memory(size_t bytes) {
  AlignedMemory made(static_cast<uint8_t*>(std::aligned_alloc(kMemoryAlignment, aligned(bytes))));
  if (made == nullptr) throw std::bad_alloc();
  return made;
}

void pack_weights(const tw_rhs_source& source, const Threads& threads, PackedWeights& weights) {
  const tw_plan* plan = weights.plan.get();
  weights.bytes = tw_rhs_bytes(plan);
  weights.packed = aligned_memory(weights.bytes);
  tilewright::FirstFailure failure;
  for_slices(threads, tilewright::rhs_slices(plan), [&](size_t slice, size_t) {
    failure.note(tw_pack_rhs(plan, &source, weights.packed.get(), weights.bytes, slice));
  });
  failure.check();
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
