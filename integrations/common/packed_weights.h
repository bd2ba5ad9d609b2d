// A plan, and weights that are packed for it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

#include "integrations/common/slices.h"
#include "tilewright/tilewright.h"

namespace tw {

struct FreeMemory {
  size_t pages = 0;  ///< bytes that allocate_pages() gave; 0: the heap's
  void operator()(uint8_t* memory) const;
};
using AlignedMemory = std::unique_ptr<uint8_t, FreeMemory>;
constexpr size_t kMemoryAlignment = 64;
constexpr size_t aligned(size_t bytes) {
  return (bytes + kMemoryAlignment - 1) / kMemoryAlignment * kMemoryAlignment;
}
/// Of so many bytes, rounded up to whole lines of a cache. Throws std::bad_alloc.
AlignedMemory aligned_memory(size_t bytes);

struct PackedWeights {
  struct FreePlan {
    void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
  };
  std::unique_ptr<tw_plan, FreePlan> plan;
  AlignedMemory packed;
  size_t bytes = 0;
  size_t n = 0, k = 0;
};

/// What weights are packed for.
struct PackedShape {
  const char* family;
  size_t n, k;
  const tw_layout& layout;
};
/// What `pack` makes of the source in so many bytes, kept in a file where TILEWRIGHT_CACHE names a
/// folder. Throws what `pack` does, or std::bad_alloc.
AlignedMemory packed_memory(const PackedShape& shape, const tw_rhs_source& source,
                            const Threads& threads, size_t bytes,
                            const std::function<void(uint8_t*)>& pack);

/// Of the plan that is there already. Throws tilewright::Error or std::bad_alloc.
void pack_weights(const tw_rhs_source& source, const Threads& threads, PackedWeights& weights);

/// Whether kernels of C for any CPU would be taken, for one row or for `rows`: no match for a
/// host's own.
bool is_portable(const tw_plan* plan, size_t rows);

}  // namespace tw
