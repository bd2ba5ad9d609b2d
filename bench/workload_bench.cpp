#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string_view>

#include "benches.h"
#include "measure/limited_race.h"
#include "measure/planned_matmul.h"
#include "tilewright/tilewright.hpp"

namespace tw::bench {
namespace {

constexpr size_t reduced_m = 4, reduced_n = 256;

/// One weight shape of the workload, under the names of all layers that have it.
struct Layer {
  std::string names;
  size_t n, k;
};

std::vector<Layer> distinct_layers(const Workload& workload) {
  std::vector<Layer> layers;
  for (const Matmul& m : workload.matmuls) {
    const auto n = static_cast<size_t>(m.n), k = static_cast<size_t>(m.k);
    const auto same = std::find_if(layers.begin(), layers.end(),
                                   [&](const Layer& l) { return l.n == n && l.k == k; });
    if (same == layers.end()) {
      layers.push_back({m.name, n, k});
    } else {
      same->names += "," + m.name;
    }
  }
  return layers;
}

/// Of the session's family; where its weights have blocks, those of its first kernel.
const tw_layout& weight_layout(const Session& session) {
  std::vector<const tw_kernel*> rows(tw_list_kernels(&session.device, nullptr, 0));
  tw_list_kernels(&session.device, rows.data(), rows.size());
  std::set<std::string> known;
  for (const tw_kernel* row : rows) {
    if (row->family == session.family) return *row->rhs;
    known.insert(row->family);
  }
  fail(fmt::format("family '{}' has no kernel on this CPU; these have: {}", session.family,
                   fmt::join(known, ", ")));
}

/// One scalar kernel on a small part of the problem, hot: GMAC/s.
double scalar_rate(const Session& session, const tw_kernel& kernel, const Weights& weights,
                   size_t m) {
  PlannedMatmul matmul(session.device, weights, {.family = kernel.family, .kernel = kernel.name});
  matmul.prepare(m);
  Race race({{[&] { matmul.run(); }, matmul.macs()}}, session.effort);
  for (int i = 0; i < 3; ++i) race.round();
  matmul.check();
  return race.samples()[0].best_rate();
}

/// The fastest scalar kernel's rate. Measured once for each m and k.
double best_scalar_rate(const Session& session, size_t m, size_t k) {
  static std::map<std::pair<size_t, size_t>, double> known;
  const auto [entry, is_new] = known.try_emplace({m, k}, 0);
  if (!is_new) return entry->second;
  const Weights weights = random_weights(reduced_n, k, weight_layout(session));
  std::vector<const tw_kernel*> rows(tw_list_kernels(&session.device, nullptr, 0));
  tw_list_kernels(&session.device, rows.data(), rows.size());
  for (const tw_kernel* row : rows) {
    if (std::string_view(row->isa) != "scalar" || row->family != session.family) continue;
    if (row->rhs->block != weights.block || row->rhs->block_scales != weights.type) continue;
    entry->second = std::max(entry->second, scalar_rate(session, *row, weights, m));
  }
  return entry->second;
}

/// What a layer's weights are multiplied as: by the kernels of their family, or as bf16 that they
/// become in scratch.
enum class Arithmetic { own, bf16 };
constexpr const char* bf16_family = "matmul_clamp_f32_bf16p_bf16p";

/// Whether this machine multiplies the session's weights as bf16.
bool has_bf16(const Session& session) {
  constexpr size_t n = 256, k = 2048;
  auto matmul = tilewright::sized<tw_matmul>();
  const tw_layout& layout = weight_layout(session);
  matmul.family = session.family.c_str();
  matmul.n = n;
  matmul.k = k;
  matmul.block = layout.block;
  matmul.scales = layout.block_scales;
  tw_plan* plan = nullptr;
  if (tw_plan_create(&session.device, &matmul, &plan) != TW_OK) return false;
  matmul.family = bf16_family;
  matmul.rhs_layout = tw_plan_rhs_layout(plan)->id;
  tw_plan_destroy(plan);
  plan = nullptr;
  const bool made =
      session.family != bf16_family && tw_plan_create(&session.device, &matmul, &plan) == TW_OK;
  tw_plan_destroy(plan);
  return made;
}

/// Weights and plans of the layer at hand; layers are measured one after the other.
struct Loaded {
  const Layer* layer = nullptr;
  Weights weights;
  std::unique_ptr<PlannedMatmul> own, bf16;
  double rate = 1e9;  ///< GMAC/s of the m before; m grows
};

PlannedMatmul& load(Loaded& loaded, const Session& session, const Layer& layer,
                    Arithmetic arithmetic) {
  MatmulOptions options = {.family = session.family.c_str(),
                           .rotate_bytes = session.rotate_bytes,
                           .team = session.team.get(),
                           .scratch = true};
  if (loaded.layer != &layer) {
    loaded.own.reset();
    loaded.bf16.reset();
    loaded.weights = random_weights(layer.n, layer.k, weight_layout(session));
    loaded.own = std::make_unique<PlannedMatmul>(session.device, loaded.weights, options);
    loaded.layer = &layer;
    loaded.rate = 1e9;
  }
  if (arithmetic == Arithmetic::own) return *loaded.own;
  if (loaded.bf16 == nullptr) {
    options.family = bf16_family;
    options.packed = loaded.own->packed();
    options.rhs_layout = options.packed->layout();
    loaded.bf16 = std::make_unique<PlannedMatmul>(session.device, loaded.weights, options);
  }
  return *loaded.bf16;
}

void run_layer(benchmark::State& state, const Session& session, const Layer& layer, size_t m,
               Arithmetic arithmetic) {
  static Loaded loaded;
  PlannedMatmul& matmul = load(loaded, session, layer, arithmetic);
  matmul.prepare(m);
  const double seconds = 2 * (session.effort.rounds + 1) * matmul.macs() / (loaded.rate * 1e9);
  if (seconds > session.seconds_per_row) {
    const std::string why = fmt::format("left out, it would take {:.0f} s", seconds);
    state.SkipWithError(why.c_str());
    return;
  }
  const auto segments = matmul.segments(m);
  LimitedRace race({{[&] { matmul.run(); }, matmul.macs()},
                    {[&] {
                       matmul.pack_lhs();
                       matmul.run();
                     },
                     matmul.macs()}},
                   session.effort, session.limits, *segments[0].kernel, &matmul.rhs_memory(),
                   session.team.get());
  for (auto _ : state) state.SetIterationTime(race.round());
  matmul.check();

  const double best = loaded.rate = race.samples(0).best_rate();
  const tw_kernel* decoder = matmul.decoder(m);
  const std::string kernels = arithmetic == Arithmetic::bf16 ? "bf16, " + short_names(segments)
                              : decoder == nullptr           ? short_names(segments)
                              : decoder->decoded != nullptr  ? "decoded to bytes"
                                                             : "decoded to f32";
  std::string label = fmt::format("{}|{}|{}|{}|{}", layer.names, layer.n, layer.k, m, kernels);
  if (decoder != nullptr) {
    label += fmt::format("|{}", decoder->name);
  } else {
    for (const tw_segment& segment : segments) label += fmt::format("|{}", segment.kernel->name);
  }
  state.SetLabel(label);
  state.counters["best"] = best;
  state.counters["median"] = race.samples(0).median_rate();
  state.counters["packing"] = race.samples(1).best_rate();
  // Weights stream as they are packed.
  set_limits(state, race, m, decoder != nullptr ? *decoder : *segments[0].kernel, best);
  const double scalar = best_scalar_rate(session, std::min(m, reduced_m), layer.k);
  if (scalar > 0) state.counters["scalar"] = best / scalar;
}

}  // namespace

void register_workload(const Session& session, const Workload& workload) {
  static std::vector<Layer> layers;
  layers = distinct_layers(workload);
  weight_layout(session);  // refuses unknown families before anything is measured
  std::vector<int64_t> rows;
  for (const Rows& known : workload.rows) rows.push_back(known.m);
  if (std::find(rows.begin(), rows.end(), 128) == rows.end()) rows.push_back(128);
  std::sort(rows.begin(), rows.end());
  const bool with_bf16 = has_bf16(session);
  const auto add = [&](const Layer& layer, int64_t m, Arithmetic arithmetic) {
    const char* suffix = arithmetic == Arithmetic::bf16 ? "/bf16" : "";
    benchmark::RegisterBenchmark(
        fmt::format("workload/{}/{}/m:{}{}", workload.name, layer.names, m, suffix).c_str(),
        [&session, &layer, m, arithmetic](benchmark::State& state) {
          run_layer(state, session, layer, static_cast<size_t>(m), arithmetic);
        })
        ->UseManualTime()
        ->Iterations(session.effort.rounds);
  };
  constexpr int64_t few_rows = 8;
  for (const Layer& layer : layers) {
    for (const int64_t m : rows) {
      add(layer, m, Arithmetic::own);
      if (with_bf16 && m >= few_rows) add(layer, m, Arithmetic::bf16);
    }
  }
}

Table workload_table() {
  return {"workload",
          "Layers, weights streamed from memory. GMAC/s: best and median round; +packing: with the "
          "activations\nquantized and packed each time; limit: the smaller of compute and M x "
          "streaming read / bytes a weight;\nw. loads: that with loads beside what multiplies; x "
          "scalar: against the fastest scalar kernel on at\nmost 4 rows x 256 columns, in cache.",
          {{"layers", "", 9},
           {"N", "", 6},
           {"K", "", 5},
           {"M", "", 3},
           {"kernels", "", 40},
           {"GMAC/s", "best"},
           {"median", "median"},
           {"+packing", "packing"},
           {"limit", "limit"},
           {"share", "share", 6, 1, "%"},
           {"w. loads", "with_loads"},
           {"x scalar", "scalar", 8, 1}}};
}

}  // namespace tw::bench
