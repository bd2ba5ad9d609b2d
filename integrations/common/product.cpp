#include "integrations/common/product.h"

#include <algorithm>

#include "tilewright/tilewright.hpp"

namespace tw {

uint8_t* Scratch::of(size_t bytes) {
  if (bytes <= bytes_) return memory_.get();
  bytes_ = 0;
  memory_ = aligned_memory(bytes);
  bytes_ = aligned(bytes);
  return memory_.get();
}

void run_product(const Product& product, Threads threads, Scratch& scratch) {
  const tw_plan* plan = product.weights.plan.get();
  const size_t m = product.args.m;
  if (m == 0) return;
  size_t packed_bytes = 0, own_bytes = 0;
  tilewright::check(tw_lhs_bytes(plan, m, &packed_bytes));
  tilewright::check(tw_scratch_bytes(plan, m, &own_bytes));
  threads.count = std::clamp(threads.count, 1, available_cores());
  const size_t packed_end = aligned(packed_bytes), own_step = aligned(own_bytes);
  uint8_t* memory = scratch.of(packed_end + own_step * static_cast<size_t>(threads.count));
  tilewright::FirstFailure failure;

  for_slices(threads, tilewright::lhs_slices(plan, m), [&](size_t slice, size_t thread) {
    tw_lhs_source source = product.lhs;
    source.scratch = memory + packed_end + thread * own_step;
    source.scratch_bytes = own_bytes;
    failure.note(tw_pack_lhs(plan, m, &source, memory, packed_bytes, slice));
  });
  failure.check();

  tw_run_args common = product.args;
  common.rhs = product.weights.packed.get();
  common.rhs_bytes = product.weights.bytes;
  if (packed_bytes != 0) {
    common.lhs = memory;
    common.lhs_bytes = packed_bytes;
  } else {
    common.lhs = product.lhs.data;
    common.lhs_bytes = product.lhs.data_bytes;
    common.lhs_stride = product.lhs.stride;
    common.indirect = product.lhs.indirect;
  }
  for_slices(threads, tilewright::run_slices(plan, m), [&](size_t slice, size_t thread) {
    tw_run_args args = common;
    args.scratch = memory + packed_end + thread * own_step;
    args.scratch_bytes = own_bytes;
    failure.note(tw_run(plan, &args, slice));
  });
  failure.check();
}

}  // namespace tw
