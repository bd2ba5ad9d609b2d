// Two products of the same rows in one call: gate and up of a feed-forward layer.
#include <fmt/format.h>

#include <algorithm>

#include "benches.h"
#include "measure/limited_race.h"
#include "measure/planned_matmul.h"
#include "tilewright/gated.h"

namespace tw::bench {
namespace {

constexpr size_t columns = 16384, depth = 2048;  // gate and up of Gemma 2B
constexpr size_t scratch_alignment = 64;

/// gate * up, which is hardly more than reading both.
void multiply(const tw_gated_values* values) {
  const auto* gate = static_cast<const float*>(values->gate);
  const auto* up = static_cast<const float*>(values->up);
  auto* out = static_cast<float*>(values->context) + values->row * columns + values->column;
  for (size_t i = 0; i < values->count; ++i) out[i] = gate[i] * up[i];
}

/// Both matrices, one after the other of as many copies as more memory than the caches hold takes.
class Layer {
 public:
  Layer(const Session& session, const char* family, const Weights& weights, size_t m)
      : m_(m),
        plan_(session.device, description(family)),
        packed_(plan_.get(), weights, std::max<size_t>(session.rotate_bytes, 1), TW_F32),
        rows_(m, weights),
        gate_(m * columns * sizeof(float)),
        up_(m * columns * sizeof(float)),
        lhs_(std::max<size_t>(plan_.lhs_bytes(m), 1)),
        has_lhs_(plan_.lhs_bytes(m) != 0) {
    auto source = tilewright::sized<tw_lhs_source>();
    source.data = rows_.values.data();
    source.data_bytes = rows_.values.size() * sizeof(float);
    source.stride = depth * sizeof(float);
    for (size_t s = 0; s < plan_.lhs_slices(m); ++s) {
      plan_.pack_lhs(m, source, lhs_.data(), lhs_.size(), s);
    }
    size_t bytes = 0;
    require(tw_gated_scratch_bytes(plan_.get(), m, &bytes), "size of the scratch");
    scratch_.resize(bytes + scratch_alignment);
  }

  void run_gated() {
    tw_run_args args = arguments();
    args.scratch = reinterpret_cast<void*>(
        (reinterpret_cast<uintptr_t>(scratch_.data()) + scratch_alignment - 1) / scratch_alignment *
        scratch_alignment);
    args.scratch_bytes = scratch_.size() - scratch_alignment;
    auto gated = tilewright::sized<tw_gated>();
    gated.up = packed_.next();
    gated.each = multiply;
    gated.context = gate_.data();
    for (size_t s = 0; s < plan_.run_slices(m_); ++s) {
      require(tw_gated_run(plan_.get(), &gated, &args, s), "running");
    }
  }
  /// The same by two calls, with the outputs of both in memory.
  void run_both() {
    for (Memory* dst : {&gate_, &up_}) {
      tw_run_args args = arguments();
      args.dst = dst->data();
      args.dst_bytes = dst->size();
      args.dst_stride = columns * sizeof(float);
      for (size_t s = 0; s < plan_.run_slices(m_); ++s) plan_.run(args, s);
    }
    for (size_t row = 0; row < m_; ++row) {
      const size_t at = row * columns * sizeof(float);
      const tw_gated_values values{gate_.data() + at, up_.data() + at, row, 0,
                                   columns,           gate_.data()};
      multiply(&values);
    }
  }

  [[nodiscard]] double macs() const {
    return 2 * static_cast<double>(m_) * static_cast<double>(columns) * static_cast<double>(depth);
  }
  [[nodiscard]] std::vector<tw_segment> segments() const {
    std::vector<tw_segment> found(TW_MAX_SEGMENTS);
    size_t count = 0;
    require(tw_plan_segments(plan_.get(), m_, found.data(), &count), "segments of the plan");
    found.resize(count);
    return found;
  }
  [[nodiscard]] const Memory& memory() const { return packed_.memory(); }

 private:
  static tw_matmul description(const char* family) {
    auto made = tilewright::sized<tw_matmul>();
    made.family = family;
    made.n = columns;
    made.k = depth;
    made.threads = 1;
    return made;
  }
  tw_run_args arguments() {
    auto args = tilewright::sized<tw_run_args>();
    args.m = m_;
    args.lhs = has_lhs_ ? static_cast<const void*>(lhs_.data()) : rows_.values.data();
    args.lhs_bytes = has_lhs_ ? lhs_.size() : rows_.values.size() * sizeof(float);
    args.lhs_stride = has_lhs_ ? 0 : depth * sizeof(float);
    args.rhs = packed_.next();
    args.rhs_bytes = packed_.bytes();
    return args;
  }

  size_t m_;
  tilewright::Plan plan_;
  PackedWeights packed_;
  Activations rows_;
  Memory gate_, up_, lhs_;
  bool has_lhs_;
  std::vector<std::byte> scratch_;
};

struct Family {
  const char* family;
  const char* name;
};
constexpr Family families[] = {{"matmul_clamp_f32_f32_f32p", "f32"},
                               {"matmul_clamp_f32_qai8dxp_qsi8cxp", "int8"},
                               {"matmul_clamp_f32_qai8dxp_qsi4cxp", "int4"}};

/// Weights as the plan's choice of layout has them; layers are measured one after the other.
const Weights& weights_of(const Session& session, const Family& family) {
  static const Family* known = nullptr;
  static Weights weights;
  if (known == &family) return weights;
  auto matmul = tilewright::sized<tw_matmul>();
  matmul.family = family.family;
  matmul.n = columns;
  matmul.k = depth;
  weights = random_weights(columns, depth,
                           *tw_plan_rhs_layout(tilewright::Plan(session.device, matmul).get()));
  known = &family;
  return weights;
}

void run_layer(benchmark::State& state, const Session& session, const Family& family, size_t m) {
  Layer layer(session, family.family, weights_of(session, family), m);
  const auto segments = layer.segments();
  LimitedRace race(
      {{[&] { layer.run_gated(); }, layer.macs()}, {[&] { layer.run_both(); }, layer.macs()}},
      session.effort, session.limits, *segments[0].kernel, &layer.memory());
  for (auto _ : state) state.SetIterationTime(race.round());
  const double best = race.samples(0).best_rate();
  const double limit = race.limit(static_cast<double>(m), bytes_per_weight(*segments[0].kernel));
  state.SetLabel(fmt::format("{}|{}|{}", family.name, m, short_names(segments)));
  state.counters["best"] = best;
  state.counters["median"] = race.samples(0).median_rate();
  state.counters["both"] = race.samples(1).best_rate();
  state.counters["ratio"] = race.ratio(0, 1);
  if (limit <= 0) return;
  state.counters["limit"] = limit;
  state.counters["share"] = 100 * best / limit;
}

}  // namespace

void register_gated(const Session& session) {
  for (const Family& family : families) {
    for (const size_t m : {1, 16, 128}) {
      benchmark::RegisterBenchmark(
          fmt::format("gated/{}/m:{}", family.name, m).c_str(),
          [&session, &family, m](benchmark::State& state) { run_layer(state, session, family, m); })
          ->UseManualTime()
          ->Iterations(session.effort.rounds);
    }
  }
}

Table gated_table() {
  return {"gated",
          "Gate and up of Gemma 2B (16384 x 2048 each) in one call, weights streamed from memory; "
          "GMAC/s. Both:\ntwo calls and the same function over their outputs; ratio: the rate of "
          "one to "
          "that of these.",
          {{"weights", "", 7},
           {"M", "", 3},
           {"kernels", "", 40},
           {"GMAC/s", "best"},
           {"median", "median"},
           {"both", "both"},
           {"ratio", "ratio", 6, 2},
           {"limit", "limit"},
           {"share", "share", 6, 1, "%"}}};
}

}  // namespace tw::bench
