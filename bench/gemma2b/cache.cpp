#include "gemma2b/cache.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "tilewright/tilewright.hpp"

namespace tw::gemma {

namespace {

/// Queries of a prompt that are computed together: positions behind the last one's are not read.
constexpr size_t kBlock = 64;

void require(tw_status status) {
  if (status != TW_OK) throw std::runtime_error(tw_error_message());
}

std::byte* scratch(size_t bytes) {
  thread_local std::vector<std::byte> memory;
  if (memory.size() < bytes) memory.resize(bytes);
  return memory.data();
}

}  // namespace

Attention::Attention(const Sizes& sizes, size_t threads) : sizes_(sizes), threads_(threads) {
  auto device = tilewright::sized<tw_device>();
  require(tw_device_detect(&device));
  auto attention = tilewright::sized<tw_attention>();
  attention.heads = sizes.heads;
  attention.kv_heads = 1;
  attention.key_size = attention.value_size = sizes.head;
  attention.key_type = attention.value_type = TW_F16;
  tw_attention_plan* plan = nullptr;
  require(tw_attention_create(&device, &attention, &plan));
  plan_.reset(plan);
}

tw_attention_args Attention::args_of(const float* q, const Cache& cache, float* out) const {
  auto args = tilewright::sized<tw_attention_args>();
  args.q = q;
  args.k = cache.k.data();
  args.v = cache.v.data();
  args.out = out;
  args.q_head_stride = args.out_head_stride = sizes_.head * sizeof(float);
  args.q_stride = args.out_stride = sizes_.heads * sizes_.head * sizeof(float);
  args.k_stride = args.v_stride = sizes_.head * sizeof(uint16_t);
  args.scale = 1 / std::sqrt(static_cast<float>(sizes_.head));
  return args;
}

/// One query: its positions are divided among threads.
void Attention::run_one(const Share& share, tw_attention_args args) const {
  args.threads = threads_;
  auto work = tilewright::sized<tw_attention_work>();
  require(tw_attention_divide(plan_.get(), &args, &work));
  std::vector<std::byte> partials(work.partial_bytes);
  args.partials = partials.data();
  args.partial_bytes = partials.size();
  share(work.slices, [&](size_t slice) {
    tw_attention_args of_thread = args;
    of_thread.scratch = scratch(work.scratch_bytes);
    of_thread.scratch_bytes = work.scratch_bytes;
    require(tw_attention_run(plan_.get(), &of_thread, slice));
  });
  share(work.merges, [&](size_t merge) { require(tw_attention_merge(plan_.get(), &args, merge)); });
}

/// Queries `first` and following, so many as args say, at `position` and following.
void Attention::run_block(tw_attention_args args, size_t first, size_t position) const {
  args.q = static_cast<const char*>(args.q) + first * args.q_stride;
  args.out = static_cast<char*>(args.out) + first * args.out_stride;
  args.positions = position + args.queries;
  std::vector<float> mask(args.queries * args.positions);
  for (size_t query = 0; query < args.queries; ++query) {
    const auto row = mask.begin() + static_cast<ptrdiff_t>(query * args.positions);
    std::fill(row + static_cast<ptrdiff_t>(position + query + 1),
              row + static_cast<ptrdiff_t>(args.positions),
              -std::numeric_limits<float>::infinity());
  }
  args.mask = mask.data();
  args.mask_type = TW_F32;
  args.mask_stride = args.positions * sizeof(float);
  auto work = tilewright::sized<tw_attention_work>();
  require(tw_attention_divide(plan_.get(), &args, &work));
  args.scratch = scratch(work.scratch_bytes);
  args.scratch_bytes = work.scratch_bytes;
  for (size_t slice = 0; slice < work.slices; ++slice) {
    require(tw_attention_run(plan_.get(), &args, slice));
  }
}

void Attention::run(const Share& share, const float* q, const Cache& cache, size_t position,
                    size_t rows, float* out) const {
  tw_attention_args args = args_of(q, cache, out);
  if (rows == 1) {
    args.queries = 1;
    args.positions = position + 1;
    run_one(share, args);
    return;
  }
  args.threads = 1;
  const size_t blocks = (rows + kBlock - 1) / kBlock;
  share(blocks, [&](size_t i) {
    // The longest first, so that threads end together.
    const size_t first = (blocks - 1 - i) * kBlock;
    tw_attention_args block = args;
    block.queries = std::min(kBlock, rows - first);
    run_block(block, first, position + first);
  });
}

}  // namespace tw::gemma
