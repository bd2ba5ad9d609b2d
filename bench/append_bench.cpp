// Weights that come at run time: one position of a head's keys, or values, at a time.
#include <fmt/format.h>

#include <cstring>

#include "benches.h"
#include "measure/operands.h"
#include "measure/planned_matmul.h"
#include "tilewright/append.h"

namespace tw::bench {
namespace {

constexpr size_t positions = 4096;
constexpr const char* families[] = {"matmul_clamp_f32_f32_f32p", "matmul_clamp_f32_f32_f16p",
                                    "matmul_clamp_f32_f32_bf16p", "matmul_clamp_f32_f16p_f16p",
                                    "matmul_clamp_f32_bf16p_bf16p"};

struct Head {
  const char* family;
  bool keys;  ///< a position is a column, else a value of k
  size_t size;
};

tw_matmul description(const Head& head) {
  auto made = tilewright::sized<tw_matmul>();
  made.family = head.family;
  made.n = head.keys ? positions : head.size;
  made.k = head.keys ? head.size : positions;
  return made;
}

/// The next position each time, of all that there is room for.
class Cache {
 public:
  Cache(const Session& session, const Head& head)
      : head_(head),
        plan_(session.device, description(head)),
        memory_(plan_.rhs_bytes()),
        values_(random_values(head.size)),
        part_(tilewright::sized<tw_rhs_part>()) {
    std::memset(memory_.data(), 0, memory_.size());
    part_.order = head.keys ? TW_NXK : TW_KXN;
    part_.data = values_.data();
    part_.data_bytes = part_.stride = head.size * layout().data_bits / 8;
    (head.keys ? part_.k_end : part_.n_end) = head.size;
  }
  void append() {
    size_t& begin = head_.keys ? part_.n_begin : part_.k_begin;
    begin = begin + 1 < positions ? begin + 1 : 0;
    (head_.keys ? part_.n_end : part_.k_end) = begin + 1;
    require(tw_append_rhs(plan_.get(), &part_, memory_.data(), memory_.size()), "append");
  }
  [[nodiscard]] const tw_layout& layout() const { return *tw_plan_rhs_layout(plan_.get()); }

 private:
  Head head_;
  tilewright::Plan plan_;
  Memory memory_;
  std::vector<float> values_;
  tw_rhs_part part_;
};

void run_head(benchmark::State& state, const Session& session, const Head& head) {
  Cache cache(session, head);
  Race race({{[&] { cache.append(); }, 1}}, session.effort);
  for (auto _ : state) state.SetIterationTime(race.round());
  state.counters["best"] = 1 / race.samples()[0].best_rate();  // 1e9 calls a second
  state.counters["median"] = 1 / race.samples()[0].median_rate();
  state.SetLabel(
      fmt::format("{}|{}|{}", cache.layout().text, head.keys ? "key" : "value", head.size));
}

bool is_supported(const Session& session, const char* family) {
  const tw_matmul matmul = description({family, true, 64});
  tw_plan* plan = nullptr;
  const bool made = tw_plan_create(&session.device, &matmul, &plan) == TW_OK;
  tw_plan_destroy(plan);
  return made;
}

}  // namespace

void register_appends(const Session& session) {
  for (const char* family : families) {
    if (!is_supported(session, family)) continue;
    for (const bool keys : {true, false}) {
      for (const size_t size : {64, 128, 256}) {
        const Head head{family, keys, size};
        benchmark::RegisterBenchmark(
            fmt::format("append/{}/{}/{}", family, keys ? "key" : "value", size).c_str(),
            [&session, head](benchmark::State& state) { run_head(state, session, head); })
            ->UseManualTime()
            ->Iterations(session.effort.rounds);
      }
    }
  }
}

Table append_table() {
  return {"append",
          "One position of one head appended to packed keys or values, of room for 4096; ns.",
          {{"layout", "", 42},
           {"what", "", 6},
           {"head size", "", 10},
           {"best", "best"},
           {"median", "median"}}};
}

}  // namespace tw::bench
