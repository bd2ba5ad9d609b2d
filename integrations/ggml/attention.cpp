#include "integrations/ggml/attention.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <tuple>

#include "integrations/common/message.h"
#include "integrations/common/this_device.h"
#include "integrations/ggml/packing.h"
#include "integrations/ggml/rows.h"
#include "integrations/ggml/team.h"
#include "tilewright/attention.h"
#include "tilewright/tilewright.hpp"

namespace tw::ggml {

namespace {

/// What the operation is made of; mask and sinks may be null.
struct Sources {
  const Tensor &q, &k, &v;
  const Tensor *mask, *sinks;
};

Sources sources_of(const Tensor& op) {
  return {*op.src[0], *op.src[1], *op.src[2], op.src[3], op.src[4]};
}

/// Numbers of what `op_params` and `src` hold; all others are nothing that we know.
enum Parameter { scale, max_bias, softcap, precision, most_unmasked, parameters };
constexpr size_t kSources = 5;

float parameter(const Tensor& op, Parameter number) {
  float value;
  std::memcpy(&value, &op.op_params[number], sizeof value);
  return value;
}

/// Of a batch; a tensor that has fewer batches than there are has each for several in a row.
const char* batch_of(const Tensor& tensor, size_t batch, size_t batches) {
  return static_cast<const char*>(tensor.data) +
         batch / (batches / extent(tensor, 3)) * tensor.nb[3];
}

// ---- plans ----

struct FreeAttention {
  void operator()(tw_attention_plan* plan) const { tw_attention_destroy(plan); }
};

struct Plan {
  std::unique_ptr<tw_attention_plan, FreeAttention> plan;
  std::atomic<bool> is_logged{false};
};

/// Of K or V; none: not ours.
tw_type type_of(const Tensor& positions) {
  const WeightType* type = weight_type(positions.type);
  if (type == nullptr || positions.nb[0] != type->block_bytes) return TW_TYPE_NONE;
  static const std::map<int32_t, tw_type> known = {{type_f32, TW_F32},
                                                   {type_f16, TW_F16},
                                                   {type_bf16, TW_BF16},
                                                   {type_q8_0, TW_TYPE_Q8_0},
                                                   {type_q4_0, TW_TYPE_Q4_0}};
  const auto found = known.find(type->number);
  return found == known.end() ? TW_TYPE_NONE : found->second;
}

/// Kept for the life of the process. Its plan is null where nothing here runs such heads.
Plan& find_plan(const Tensor& op) {
  static std::mutex mutex;
  using Key = std::tuple<size_t, size_t, size_t, size_t, tw_type, tw_type>;
  static std::map<Key, Plan> known;
  const Sources in = sources_of(op);
  auto shape = tilewright::sized<tw_attention>();
  shape.heads = extent(in.q, 2);
  shape.kv_heads = extent(in.k, 2);
  shape.key_size = extent(in.q, 0);
  shape.value_size = extent(in.v, 0);
  shape.key_type = type_of(in.k);
  shape.value_type = type_of(in.v);
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace({shape.heads, shape.kv_heads, shape.key_size,
                                               shape.value_size, shape.key_type, shape.value_type});
  if (is_new) {
    tw_attention_plan* plan = nullptr;
    tw_attention_create(&this_device(), &shape, &plan);
    at->second.plan.reset(plan);
  }
  return at->second;
}

const tw_kernel& kernel_of(const Plan& plan) {
  return tw_attention_chosen(plan.plan.get(), TW_ATTENTION_SCORES)->kernel;
}

void log_once(Plan& plan, const Tensor& op) {
  if (!is_set("TILEWRIGHT_LOG", "1") || plan.is_logged.exchange(true)) return;
  const Sources in = sources_of(op);
  message("computes attention of {} heads of {} and {}, {} of K and V, on {}", in.q.ne[2],
          in.q.ne[0], in.v.ne[0], in.k.ne[2], kernel_of(plan).name);
}

// ---- what is covered ----

bool has_type(const Tensor& tensor, TensorType type, size_t bytes) {
  return tensor.type == type && tensor.nb[0] == bytes;
}

bool has_known_types(const Sources& in, const Tensor& op) {
  return has_type(in.q, type_f32, sizeof(float)) && has_type(op, type_f32, sizeof(float)) &&
         type_of(in.k) != TW_TYPE_NONE && type_of(in.v) != TW_TYPE_NONE;
}

bool has_known_shapes(const Sources& in, const Tensor& op) {
  const int64_t heads = in.q.ne[2], batches = in.q.ne[3];
  return in.k.ne[0] == in.q.ne[0] && in.v.ne[1] == in.k.ne[1] && in.v.ne[2] == in.k.ne[2] &&
         divides(in.k.ne[2], heads) && divides(in.k.ne[3], batches) &&
         divides(in.v.ne[3], batches) && op.ne[0] == in.v.ne[0] && op.ne[1] == heads &&
         op.ne[2] == in.q.ne[1] && op.ne[3] == batches;
}

/// Heads have one mask, or one each; ggml could have them take turns. There may be more rows than
/// queries.
bool has_known_mask(const Sources& in) {
  if (in.mask == nullptr) return true;
  const Tensor& mask = *in.mask;
  return has_type(mask, type_f16, sizeof(uint16_t)) && mask.ne[0] == in.k.ne[1] &&
         mask.ne[1] >= in.q.ne[1] && (mask.ne[2] == 1 || mask.ne[2] == in.q.ne[2]) &&
         divides(mask.ne[3], in.q.ne[3]);
}

bool has_known_sinks(const Sources& in) {
  return in.sinks == nullptr ||
         (has_type(*in.sinks, type_f32, sizeof(float)) && in.sinks->ne[0] == in.q.ne[2]);
}

bool has_nothing_else(const Tensor& op) {
  const auto is_nothing = [](auto value) { return !value; };
  return std::all_of(std::begin(op.src) + kSources, std::end(op.src), is_nothing) &&
         std::all_of(std::begin(op.op_params) + parameters, std::end(op.op_params), is_nothing);
}

// ---- computing ----

/// All batches at once: slices of one after those of the other.
struct Job {
  const Tensor& op;
  const tw_attention_plan* plan;
  size_t batches;
  tw_attention_args args;  ///< but for what differs from batch to batch
  tw_attention_work work = tilewright::sized<tw_attention_work>();  ///< of a batch
  char* scratch = nullptr;   ///< of threads, one after the other
  char* partials = nullptr;  ///< of batches, likewise
  std::atomic<size_t> threads{0}, next_slice{0}, next_merge{0};
  Progress slices_done = {};
  std::atomic<bool> failed{false};
};

void check(Job& job, tw_status status) {
  if (status != TW_OK && !job.failed.exchange(true)) message("{}", tw_error_message());
}

tw_attention_args args_of(const Tensor& op) {
  const Sources in = sources_of(op);
  auto args = tilewright::sized<tw_attention_args>();
  args.queries = extent(in.q, 1);
  args.positions = extent(in.k, 1);
  args.q_stride = in.q.nb[1];
  args.q_head_stride = in.q.nb[2];
  args.k_stride = in.k.nb[1];
  args.k_head_stride = in.k.nb[2];
  args.v_stride = in.v.nb[1];
  args.v_head_stride = in.v.nb[2];
  args.out_stride = op.nb[2];
  args.out_head_stride = op.nb[1];
  args.mask_type = TW_F16;
  if (in.mask != nullptr) {
    args.mask_stride = in.mask->nb[1];
    args.mask_head_stride = in.mask->ne[2] == 1 ? 0 : in.mask->nb[2];
  }
  args.scale = parameter(op, scale);
  args.softcap = parameter(op, softcap);
  args.max_bias = parameter(op, max_bias);
  args.sinks = in.sinks == nullptr ? nullptr : static_cast<const float*>(in.sinks->data);
  return args;
}

tw_attention_args args_of_batch(const Job& job, size_t batch) {
  const Sources in = sources_of(job.op);
  tw_attention_args args = job.args;
  args.q = batch_of(in.q, batch, job.batches);
  args.k = batch_of(in.k, batch, job.batches);
  args.v = batch_of(in.v, batch, job.batches);
  args.out = static_cast<char*>(job.op.data) + batch * job.op.nb[3];
  if (in.mask != nullptr) {
    // Masks take turns, other than K and V.
    const size_t mask = batch % extent(*in.mask, 3);
    args.mask = static_cast<const char*>(in.mask->data) + mask * in.mask->nb[3];
  }
  args.partials = job.partials + batch * job.work.partial_bytes;
  args.partial_bytes = job.work.partial_bytes;
  return args;
}

void work_through(void* data) {
  Job& job = *static_cast<Job*>(data);
  const size_t slices = job.work.slices, merges = job.work.merges, thread = job.threads++;
  for (size_t i = job.next_slice++; i < slices * job.batches; i = job.next_slice++) {
    tw_attention_args args = args_of_batch(job, i / slices);
    args.scratch = job.scratch + thread * job.work.scratch_bytes;
    args.scratch_bytes = job.work.scratch_bytes;
    check(job, tw_attention_run(job.plan, &args, i % slices));
    job.slices_done.finish_one();
  }
  if (merges == 0) return;
  job.slices_done.wait_for_all();
  for (size_t i = job.next_merge++; i < merges * job.batches; i = job.next_merge++) {
    const tw_attention_args args = args_of_batch(job, i / merges);
    check(job, tw_attention_merge(job.plan, &args, i % merges));
  }
}

}  // namespace

bool can_attend(const Tensor& op) {
  if (op.src[0] == nullptr || op.src[1] == nullptr || op.src[2] == nullptr) return false;
  const Sources in = sources_of(op);
  return has_known_types(in, op) && has_known_shapes(in, op) && has_known_mask(in) &&
         has_known_sinks(in) && has_nothing_else(op) && find_plan(op).plan != nullptr;
}

bool is_worth_attending(const Tensor& op) {
  return kernel_of(find_plan(op)).features != 0;
}

Status attend(const Tensor& op, int threads, Scratch& scratch) {
  Plan& plan = find_plan(op);
  log_once(plan, op);
  Job job = {op, plan.plan.get(), extent(op, 3), args_of(op)};
  // One query of one batch keeps all threads busy only if its positions are divided, too.
  job.args.threads = (static_cast<size_t>(threads) + job.batches - 1) / job.batches;
  if (tw_attention_divide(job.plan, &job.args, &job.work) != TW_OK) {
    message("{}", tw_error_message());
    return failed;
  }
  const auto team = std::min(static_cast<size_t>(threads), job.work.slices * job.batches);
  const size_t scratch_bytes = team * job.work.scratch_bytes;
  scratch.grow(scratch_bytes + job.batches * job.work.partial_bytes);
  job.scratch = reinterpret_cast<char*>(scratch.memory.get());
  job.partials = job.scratch + scratch_bytes;
  job.slices_done.start(job.work.slices * job.batches);
  run_team(static_cast<int>(team), work_through, &job);
  return job.failed ? failed : success;
}

}  // namespace tw::ggml
