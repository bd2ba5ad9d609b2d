#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "benches.h"
#include "measure/limited_race.h"
#include "measure/planned_matmul.h"

namespace tw::bench {
namespace {

constexpr size_t hot_rows = 128;

using Kernels = std::vector<const tw_kernel*>;

/// Rows that came from the same variant: all but the printer is equal.
bool same_variant(const tw_kernel& a, const tw_kernel& b) {
  return std::strcmp(a.family, b.family) == 0 && std::strcmp(a.isa, b.isa) == 0 &&
         std::strcmp(a.technique, b.technique) == 0 && a.lhs->id == b.lhs->id &&
         a.rhs->id == b.rhs->id && a.tile_m == b.tile_m && a.tile_n == b.tile_n &&
         a.unroll_k == b.unroll_k && a.accumulators == b.accumulators &&
         std::strcmp(a.printer, b.printer) != 0;
}

/// The requested rows in groups that race together: a variant's two printers, or one alone.
std::vector<Kernels> groups(const Session& session, const KernelRequest& request) {
  Kernels all(tw_list_kernels(&session.device, nullptr, 0));
  tw_list_kernels(&session.device, all.data(), all.size());
  std::vector<Kernels> result;
  for (const tw_kernel* kernel : all) {
    if (kernel->dst != TW_F32 && kernel->dst != TW_S8) continue;  // halves are measured as f32
    if (!request.kernel.empty() && request.kernel != kernel->name) continue;
    if (!request.isa.empty() && request.isa != kernel->isa) continue;
    const auto twin = std::find_if(result.begin(), result.end(), [&](const Kernels& group) {
      return group.size() == 1 && same_variant(*group[0], *kernel);
    });
    if (twin == result.end()) {
      result.push_back({kernel});
    } else {
      twin->push_back(kernel);
    }
  }
  if (result.empty()) {
    fail(fmt::format("no kernel of this CPU is named '{}'{}", request.kernel,
                     request.isa.empty() ? "" : " on ISA " + request.isa));
  }
  return result;
}

/// " by block b32": scales of activations and blocks, where weights have blocks.
std::string blocks_text(const tw_kernel& kernel) {
  if (kernel.rhs->block == 0) return "";
  const bool by_rows = kernel.lhs->per_row_bytes != 0;
  return fmt::format(" {} b{}", by_rows ? "by row" : "by block", kernel.rhs->block);
}

/// The row, the whole row and nothing but the row computes m rows.
void require_only(const tw_kernel& kernel, const PlannedMatmul& matmul, size_t m) {
  for (const tw_segment& segment : matmul.segments(m)) {
    if (segment.kernel != &kernel) {
      fail(fmt::format("{} was asked for, {} would run", kernel.name, segment.kernel->name));
    }
  }
}

void run_group(benchmark::State& state, const Session& session, const KernelRequest& request,
               const Kernels& kernels, size_t m, bool streamed) {
  const Weights weights = random_weights(request.n, request.k, *kernels[0]->rhs);
  std::vector<std::unique_ptr<PlannedMatmul>> matmuls;
  std::vector<Contender> contenders;
  for (const tw_kernel* kernel : kernels) {
    MatmulOptions options;
    options.family = kernel->family;
    options.kernel = kernel->name;
    options.accumulate = kernel->accumulate;
    options.dst = kernel->dst;
    options.rhs_prefetch = request.rhs_prefetch;
    options.rotate_bytes = streamed ? session.rotate_bytes : 0;
    PlannedMatmul* matmul =
        matmuls.emplace_back(std::make_unique<PlannedMatmul>(session.device, weights, options))
            .get();
    require_only(*kernel, *matmul, m);
    matmul->prepare(m);
    contenders.push_back({[matmul] { matmul->run(); }, matmul->macs()});
  }
  const tw_kernel& row = *kernels[0];
  LimitedRace race(std::move(contenders), session.effort, session.limits, row,
                   streamed ? &matmuls[0]->rhs_memory() : nullptr);
  for (auto _ : state) state.SetIterationTime(race.round());

  double best = 0;
  for (size_t i = 0; i < kernels.size(); ++i) {
    matmuls[i]->spoil_output();
    matmuls[i]->run();
    matmuls[i]->check();
    const std::string printer = kernels[i]->printer;
    state.counters[printer] = race.samples(i).best_rate();
    state.counters[printer + "_median"] = race.samples(i).median_rate();
    best = std::max(best, race.samples(i).best_rate());
    if (kernels.size() == 2 && printer == "assembly") {
      state.counters["ratio"] = race.ratio(i, 1 - i);
    }
  }
  set_limits(state, race, m, row, best);
  state.SetLabel(fmt::format("{} {}x{} {}{}|{}|{}|{}|{}", row.isa, row.tile_m, row.tile_n,
                             row.technique, blocks_text(row), row.unroll_k, row.accumulators, m,
                             streamed ? "streamed" : "hot"));
}

}  // namespace

void register_kernels(const Session& session, const KernelRequest& request) {
  static std::vector<Kernels> all;
  all = groups(session, request);
  for (const Kernels& kernels : all) {
    for (const bool streamed : {true, false}) {
      // One row of activations is what a one-row tile is for, streamed or not.
      const size_t tile = kernels[0]->tile_m;
      const size_t m = request.m != 0 ? request.m : (streamed || tile == 1 ? tile : hot_rows);
      benchmark::RegisterBenchmark(
          fmt::format("kernel/{}/m:{}/{}", kernels[0]->name, m, streamed ? "streamed" : "hot")
              .c_str(),
          [&session, request, &kernels, m, streamed](benchmark::State& state) {
            run_group(state, session, request, kernels, m, streamed);
          })
          ->UseManualTime()
          ->Iterations(session.effort.rounds);
    }
  }
}

Table kernel_table() {
  return {"kernel",
          "Registry rows, GMAC/s of best and median round. asm/intr: median of the rounds' ratios. "
          "Share: of the\nbetter one, of the compute limit (hot) or of the smaller of that and "
          "streaming (streamed); w. loads:\nthat limit with loads beside what multiplies.",
          {{"variant", "", 36},
           {"unroll", "", 6},
           {"acc", "", 3},
           {"M", "", 3},
           {"weights", "", 8},
           {"assembly", "assembly"},
           {"median", "assembly_median"},
           {"intrins.", "intrinsics"},
           {"median", "intrinsics_median"},
           {"asm/intr", "ratio", 8, 3},
           {"limit", "limit"},
           {"share", "share", 6, 1, "%"},
           {"w. loads", "with_loads"}}};
}

}  // namespace tw::bench
