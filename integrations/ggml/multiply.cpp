#include "integrations/ggml/multiply.h"

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>

#include "integrations/common/message.h"
#include "integrations/ggml/buffer.h"
#include "integrations/ggml/rows.h"
#include "integrations/ggml/team.h"
#include "integrations/ggml/work.h"
#include "tilewright/tilewright.hpp"

namespace tw::ggml {

namespace {

/// Slices of several things, one after the other, which threads take from a common counter.
struct Phase {
  std::vector<size_t> ends;  ///< of each thing's slices, counted through
  std::function<void(size_t thing, size_t slice)> body;
  alignas(64) std::atomic<size_t> next{0};
  Progress progress;
};

struct Job {
  Work work;
  uint8_t* scratch;
  Phase gather, pack, run, scatter;
  std::vector<Phase*> shared;  ///< those that the team does, in order
  std::atomic<bool> failed{false};
};

const void* at(const Job& job, const Place& place) {
  const auto* base = place.base != nullptr ? static_cast<const uint8_t*>(place.base) : job.scratch;
  return base + place.offset;
}

void* target(const Job& job, const Place& place) {
  return const_cast<void*>(at(job, place));
}

void check(Job& job, tw_status status) {
  if (status != TW_OK && !job.failed.exchange(true)) message("{}", tw_error_message());
}

void add_slices(Phase& phase, size_t slices) {
  phase.ends.push_back((phase.ends.empty() ? 0 : phase.ends.back()) + slices);
}

// ---- phases ----

void copy_rows(Job& job, Phase& phase, const std::vector<Copy>& copies) {
  for (size_t i = 0; i < copies.size(); ++i) add_slices(phase, 1);
  phase.body = [&job, &copies](size_t i, size_t) {
    const Copy& copy = copies[i];
    const auto* from = static_cast<const uint8_t*>(at(job, copy.from));
    auto* to = static_cast<uint8_t*>(target(job, copy.to));
    if (copy.step == sizeof(float)) {
      std::memcpy(to, from, copy.values * sizeof(float));
      return;
    }
    for (size_t value = 0; value < copy.values; ++value) {
      std::memcpy(to + value * sizeof(float), from + value * copy.step, sizeof(float));
    }
  };
}

/// Bytes from the first of so many rows to the last one's end.
size_t span_of(size_t rows, size_t stride, size_t values) {
  return (rows - 1) * stride + values * sizeof(float);
}

void pack_slice(Job& job, const Product& product, size_t slice) {
  const Packing& packing = *product.packing;
  auto source = tilewright::sized<tw_lhs_source>();
  source.data = static_cast<const float*>(at(job, product.input));
  source.data_bytes = span_of(product.rows, product.input_stride, packing.k);
  source.stride = product.input_stride;
  check(job, tw_pack_lhs(product.plan, product.rows, &source, target(job, product.lhs),
                         product.lhs_bytes, slice));
}

void run_slice(Job& job, const Product& product, size_t slice) {
  const Packing& packing = *product.packing;
  const bool is_packed = product.lhs_bytes != 0;
  auto args = tilewright::sized<tw_run_args>();
  args.m = product.rows;
  args.lhs = at(job, is_packed ? product.lhs : product.input);
  args.lhs_bytes =
      is_packed ? product.lhs_bytes : span_of(product.rows, product.input_stride, packing.k);
  args.lhs_stride = is_packed ? 0 : product.input_stride;
  args.rhs = at(job, product.weights);
  args.rhs_bytes = packing.bytes;
  args.dst = static_cast<float*>(target(job, product.output));
  args.dst_bytes = span_of(product.rows, product.output_stride, packing.n);
  args.dst_stride = product.output_stride;
  // What weights become there, nobody else wants to know.
  thread_local Scratch own;
  try {
    own.grow(product.scratch_bytes);
  } catch (const std::bad_alloc&) {  // hosts' threads let nothing through
    if (!job.failed.exchange(true)) message("out of memory");
    return;
  }
  args.scratch = own.memory.get();
  args.scratch_bytes = own.bytes;
  check(job, tw_run(product.plan, &args, slice));
}

void set_phases(Job& job) {
  copy_rows(job, job.gather, job.work.gather);
  copy_rows(job, job.scatter, job.work.scatter);
  for (const Product& product : job.work.products) {
    const tw_plan* plan = product.plan;
    add_slices(job.pack, product.packs_lhs ? tilewright::lhs_slices(plan, product.rows) : 0);
    add_slices(job.run, tilewright::run_slices(plan, product.rows));
  }
  job.pack.body = [&job](size_t i, size_t slice) { pack_slice(job, job.work.products[i], slice); };
  job.run.body = [&job](size_t i, size_t slice) { run_slice(job, job.work.products[i], slice); };
}

// ---- threads ----

void take_slices(Phase& phase) {
  size_t thing = 0;
  for (size_t slice = phase.next++; slice < phase.ends.back(); slice = phase.next++) {
    while (slice >= phase.ends[thing]) ++thing;
    phase.body(thing, slice - (thing == 0 ? 0 : phase.ends[thing - 1]));
    phase.progress.finish_one();
  }
}

void work_through(void* data) {
  Job& job = *static_cast<Job*>(data);
  Phase* before = nullptr;
  for (Phase* phase : job.shared) {
    if (before != nullptr) before->progress.wait_for_all();
    before = phase;
    take_slices(*phase);
  }
}

/// What one thread does alone, like packing a single row, is done before the others are called:
/// then nobody waits for it.
void work_with_team(Job& job, int threads) {
  for (Phase* phase : {&job.gather, &job.pack, &job.run, &job.scatter}) {
    const size_t slices = phase->ends.empty() ? 0 : phase->ends.back();
    phase->progress.start(slices);
    if (slices == 1 && job.shared.empty()) {
      take_slices(*phase);
    } else if (slices != 0) {
      job.shared.push_back(phase);
    }
  }
  if (!job.shared.empty()) run_team(threads, work_through, &job);
}

/// Kernels of types with blocks round the input to 8 bits.
bool is_precise_enough(const WeightType& type, const Tensor& output) {
  const int32_t asked = output.op_params[kInputPrecision];
  return type.block == 0 || asked == precision_any || asked >= precision_q8;
}

}  // namespace

void Scratch::Free::operator()(uint8_t* at) const {
  std::free(at);
}

void Scratch::grow(size_t wanted) {
  constexpr size_t kStep = size_t{1} << 16;
  if (wanted <= bytes) return;
  bytes = 0;
  const size_t rounded = (wanted + kStep - 1) / kStep * kStep;
  memory.reset(static_cast<uint8_t*>(std::aligned_alloc(kAlignment, rounded)));
  if (memory == nullptr) throw std::bad_alloc();
  bytes = rounded;
}

bool can_multiply(const Node& node) {
  const Tensor &weights = *node.weights, &input = *node.input, &output = *node.output;
  const WeightType* type = weight_type(weights.type);
  if (type == nullptr || input.type != type_f32 || output.type != type_f32 ||
      !is_precise_enough(*type, output)) {
    return false;
  }
  const auto n = static_cast<size_t>(weights.ne[1]);
  if (input.ne[0] != weights.ne[0] || output.nb[0] != sizeof(float) ||
      output.nb[1] != n * sizeof(float)) {
    return false;
  }
  if (node.ids == nullptr) {
    return output.nb[2] == output.nb[1] * static_cast<size_t>(output.ne[1]) &&
           output.nb[3] == output.nb[2] * static_cast<size_t>(output.ne[2]) &&
           divides(weights.ne[2], input.ne[2]) && divides(weights.ne[3], input.ne[3]);
  }
  return node.ids->type == type_i32 && weights.ne[3] == 1 && input.ne[3] == 1 &&
         divides(input.ne[1], node.ids->ne[0]);
}

Status multiply(const std::vector<Node>& nodes, int threads, Scratch& scratch) {
  Job job;
  job.work = plan_work(nodes);
  scratch.grow(job.work.scratch_bytes);
  job.scratch = scratch.memory.get();
  for (const Loose& loose : job.work.loose) {
    const Packing& packing = *loose.packing;
    const size_t matrices = matrices_of(*loose.weights);
    const size_t bytes = row_bytes(*packing.type, packing.k) * packing.n * matrices;
    set_span(packing, matrices, {0, bytes}, loose.weights->data, target(job, loose.packed));
  }
  set_phases(job);
  work_with_team(job, threads);
  return job.failed ? failed : success;
}

}  // namespace tw::ggml
