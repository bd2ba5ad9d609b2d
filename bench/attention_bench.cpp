// Attention: one query against a cache that comes from memory, and prompts.
#include <fmt/format.h>

#include <cstring>
#include <memory>

#include "benches.h"
#include "measure/limited_race.h"
#include "measure/planned_matmul.h"
#include "tilewright/attention.h"

namespace tw::bench {
namespace {

/// What K and V hold: values that stand together, and their bytes.
struct Cached {
  tw_type type;
  const char* name;
  size_t values, bytes;
};
constexpr Cached f32 = {TW_F32, "f32", 1, 4}, f16 = {TW_F16, "f16", 1, 2},
                 bf16 = {TW_BF16, "bf16", 1, 2}, s8 = {TW_S8, "s8", 1, 1},
                 q8_0 = {TW_TYPE_Q8_0, "q8_0", 32, 34}, q4_0 = {TW_TYPE_Q4_0, "q4_0", 32, 18};

struct Shape {
  const char* name;
  size_t queries, positions, heads, kv_heads, head_size;
  Cached cached = f16;
  [[nodiscard]] double macs() const {
    return 2.0 * static_cast<double>(queries * positions * heads * head_size);
  }
  /// Of a head's values in a row of K or V.
  [[nodiscard]] size_t row_bytes() const { return head_size / cached.values * cached.bytes; }
  /// Of K and V.
  [[nodiscard]] size_t cache_bytes() const { return 2 * positions * kv_heads * row_bytes(); }
};
constexpr Shape shapes[] = {
    {"one query", 1, 2048, 16, 16, 64},        {"one query", 1, 2048, 16, 16, 128},
    {"one query", 1, 2048, 32, 8, 64},         {"one query", 1, 2048, 32, 8, 128},
    {"one query", 1, 2048, 16, 16, 128, q8_0}, {"one query", 1, 2048, 32, 8, 64, q8_0},
    {"one query", 1, 2048, 32, 8, 128, q8_0},  {"one query", 1, 2048, 32, 8, 128, q4_0},
    {"one query", 1, 2048, 16, 16, 128, s8},   {"one query", 1, 2048, 32, 8, 128, s8},
    {"one query", 1, 2048, 32, 8, 128, bf16},  {"one query", 1, 2048, 32, 8, 128, f32},
    {"prompt", 512, 512, 16, 16, 64},          {"prompt", 512, 512, 32, 8, 128},
    {"prompt", 512, 512, 32, 8, 128, q8_0},    {"prompt", 512, 512, 32, 8, 128, s8},
    {"prompt", 512, 512, 32, 8, 128, bf16},    {"prompt", 512, 512, 32, 8, 128, f32},
};

struct Destroy {
  void operator()(tw_attention_plan* plan) const { tw_attention_destroy(plan); }
};

/// A plan, and caches that take turns: a position's heads one after the other, as llama.cpp has
/// them.
class Call {
 public:
  Call(const Session& session, const Shape& shape, size_t caches)
      : shape_(shape),
        caches_(caches),
        cache_(caches * shape.cache_bytes()),
        scales_(shape.positions * shape.kv_heads, 0.01F),
        zeros_(scales_.size(), 3) {
    auto attention = tilewright::sized<tw_attention>();
    attention.heads = shape.heads;
    attention.kv_heads = shape.kv_heads;
    attention.key_size = attention.value_size = shape.head_size;
    attention.key_type = attention.value_type = shape.cached.type;
    tw_attention_plan* plan = nullptr;
    require(tw_attention_create(&session.device, &attention, &plan), "plan");
    plan_.reset(plan);
    std::memset(cache_.data(), 0x2c, cache_.size());  // numbers
    q_.assign(shape.queries * shape.heads * shape.head_size, 0.5F);
    out_.resize(q_.size());
    set_args();
    auto work = tilewright::sized<tw_attention_work>();
    require(tw_attention_divide(plan_.get(), &args_, &work), "division");
    slices_ = work.slices;
    scratch_.resize(work.scratch_bytes);
    args_.scratch = scratch_.data();
    args_.scratch_bytes = scratch_.size();
  }

  void run() {
    next_ = (next_ + 1) % caches_;
    args_.k = cache_.data() + next_ * shape_.cache_bytes();
    args_.v = cache_.data() + next_ * shape_.cache_bytes() + shape_.cache_bytes() / 2;
    for (size_t slice = 0; slice < slices_; ++slice) {
      require(tw_attention_run(plan_.get(), &args_, slice), "slice");
    }
  }

  [[nodiscard]] const tw_kernel& kernel() const {
    return tw_attention_chosen(plan_.get(), TW_ATTENTION_SCORES)->kernel;
  }

 private:
  void set_args() {
    const size_t head = shape_.head_size;
    args_.queries = shape_.queries;
    args_.positions = shape_.positions;
    args_.threads = 1;
    args_.q = q_.data();
    args_.q_head_stride = args_.out_head_stride = head * sizeof(float);
    args_.q_stride = args_.out_stride = shape_.heads * head * sizeof(float);
    args_.out = out_.data();
    args_.k_head_stride = args_.v_head_stride = shape_.row_bytes();
    args_.k_stride = args_.v_stride = shape_.row_bytes() * shape_.kv_heads;
    args_.scale = 0.125F;
    // Of int8, those of a position's heads together, as its values are. Not counted as bytes read.
    args_.k_scales = {scales_.data(),  shape_.kv_heads * sizeof(float),
                      sizeof(float),   zeros_.data(),
                      shape_.kv_heads, 1};
    args_.v_scales = args_.k_scales;
  }

  const Shape& shape_;
  size_t caches_, next_ = 0, slices_ = 0;
  std::unique_ptr<tw_attention_plan, Destroy> plan_;
  Memory cache_;
  std::vector<float> scales_;
  std::vector<int8_t> zeros_;
  std::vector<float> q_, out_;
  std::vector<std::byte> scratch_;
  tw_attention_args args_ = tilewright::sized<tw_attention_args>();
};

void run_shape(benchmark::State& state, const Session& session, const Shape& shape) {
  const bool streams = shape.queries == 1;
  Call call(session, shape, streams ? session.rotate_bytes / shape.cache_bytes() + 1 : 1);
  const Memory memory(session.rotate_bytes);
  LimitedRace race({{[&] { call.run(); }, shape.macs()}}, session.effort, session.limits,
                   call.kernel(), streams ? &memory : nullptr);
  for (auto _ : state) state.SetIterationTime(race.round());
  const auto group = static_cast<double>(shape.heads / shape.kv_heads);
  const double rate = race.samples(0).best_rate();
  const double value_bytes =
      static_cast<double>(shape.row_bytes()) / static_cast<double>(shape.head_size);
  const double limit = race.limit(group * static_cast<double>(shape.queries), value_bytes);
  state.SetLabel(fmt::format("{}|{}|{}|{} of {}|{}|{}", shape.name, shape.positions,
                             shape.head_size, shape.heads, shape.kv_heads, shape.cached.name,
                             call.kernel().isa));
  state.counters["rate"] = rate;
  state.counters["median"] = race.samples(0).median_rate();
  if (streams) state.counters["gbs"] = rate / group * value_bytes;
  if (limit <= 0) return;
  state.counters["limit"] = limit;
  state.counters["share"] = 100 * rate / limit;
}

}  // namespace

void register_attention(const Session& session) {
  for (const Shape& shape : shapes) {
    benchmark::RegisterBenchmark(
        fmt::format("attention/{}/{}x{}of{}/{}", shape.queries, shape.head_size, shape.heads,
                    shape.kv_heads, shape.cached.name)
            .c_str(),
        [&session, &shape](benchmark::State& state) { run_shape(state, session, shape); })
        ->UseManualTime()
        ->Iterations(session.effort.rounds);
  }
}

Table attention_table() {
  return {"attention",
          "Attention, GMAC/s (no masks: all positions count). One query: caches "
          "from memory; the limit is\nreading those, or multiplying. Prompts: multiplying.",
          {{"what", "", 9},
           {"positions", "", 9},
           {"head size", "", 9},
           {"heads", "", 8},
           {"K and V", "", 7},
           {"ISA", "", 8},
           {"best", "rate"},
           {"median", "median"},
           {"limit", "limit"},
           {"share", "share", 6, 1, "%"},
           {"GB/s", "gbs"}}};
}

}  // namespace tw::bench
