#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string_view>

#include "benches.h"
#include "internal.h"
#include "measure/operands.h"
#include "measure/planned_matmul.h"

namespace tw::bench {
namespace {

constexpr size_t depth = 2048;
constexpr size_t hot_rows = 64;

/// Of activations.
size_t value_bytes(const std::string_view type) {
  return type == "f32" ? 4 : type == "s8" ? 1 : 2;
}

/// RHS: weights that fill four times the last-level cache. LHS: rows of floats as a layer's
/// input finds them, in cache.
void run_packer(benchmark::State& state, const Session& session, const tw_packer& packer) {
  const bool lhs = std::strcmp(packer.operand, "lhs") == 0;
  const size_t codes = depth * packer.layout->data_bits / 8;
  const size_t row_bytes =
      lhs ? depth * value_bytes(packer.source)
          : tw_rhs_row_bytes(tw_find_source(packer.source, packer.layout->type), depth);
  const size_t rows = lhs ? hot_rows : session.rotate_bytes / 2 / codes / 64 * 64;
  const size_t source_bytes = rows * row_bytes;
  const bool rows_outside = std::strcmp(packer.source, "kxn") != 0;

  tw_pack_args args{};
  args.size = sizeof args;
  tw_pack_into(&args, packer.layout);
  args.rows = rows;
  args.k = depth;
  args.row_end = rows;
  args.source_stride = rows_outside ? source_bytes / rows : source_bytes / depth;
  if (!tw_panel_bytes(packer.layout, &session.device, depth, &args.packed_stride)) {
    fail(fmt::format("{}: no size for its layout", packer.name));
  }
  const size_t panel = tw_panel_rows(packer.layout, &session.device);
  const size_t packed_bytes = tw_divide_up(rows, panel) * args.packed_stride;

  const Memory source(source_bytes), packed(std::max(packed_bytes, source_bytes));
  const Weights weights = random_weights(rows, depth, *packer.layout, lhs ? 32 : 0);
  // Whatever bytes: of ggml's blocks, too, where some scales are no numbers then.
  std::memcpy(source.data(), weights.codes.data(), std::min(source_bytes, weights.codes.size()));
  if (!lhs) {
    args.bias = weights.bias.data();
    if (packer.layout->scales != 0) args.scales = weights.scale_data();
    args.scale_stride = depth / std::max<size_t>(1, weights.block) * tw_scale_bytes(weights.type);
  }
  args.source = source.data();
  args.packed = packed.data();

  Race race({{[&] { packer.run(&args); }, static_cast<double>(source_bytes)},
             {[&] { std::memcpy(packed.data(), source.data(), source_bytes); },
              static_cast<double>(source_bytes)}},
            session.effort);
  for (auto _ : state) state.SetIterationTime(race.round());
  state.counters["best"] = race.samples()[0].best_rate();
  state.counters["median"] = race.samples()[0].median_rate();
  state.counters["memcpy"] = race.samples()[1].best_rate();
  state.counters["share"] = 100 * race.ratio(0, 1);
  state.SetLabel(fmt::format("{}|{:.0f}", packer.name, static_cast<double>(source_bytes) / 1e6));
}

}  // namespace

/// The layouts of a family's kernels; of all families if it is empty.
static std::set<const tw_layout*> layouts_of(const Session& session, const std::string& family) {
  std::vector<const tw_kernel*> kernels(tw_list_kernels(&session.device, nullptr, 0));
  tw_list_kernels(&session.device, kernels.data(), kernels.size());
  std::set<const tw_layout*> layouts;
  for (const tw_kernel* kernel : kernels) {
    if (family.empty() || family == kernel->family) {
      layouts.insert({kernel->lhs, kernel->rhs});
    }
  }
  return layouts;
}

void register_packers(const Session& session, const std::string& family) {
  const std::set<const tw_layout*> layouts = layouts_of(session, family);
  std::vector<const tw_packer*> packers(tw_list_packers(&session.device, nullptr, 0));
  tw_list_packers(&session.device, packers.data(), packers.size());
  for (const tw_packer* packer : packers) {
    if (!layouts.contains(packer->layout)) continue;
    benchmark::RegisterBenchmark(
        fmt::format("packer/{}", packer->name).c_str(),
        [&session, packer](benchmark::State& state) { run_packer(state, session, *packer); })
        ->UseManualTime()
        ->Iterations(session.effort.rounds);
  }
}

Table packer_table() {
  return {"packer",
          "Packers, GB/s of source bytes. memcpy: of the source to the same memory; share: median "
          "of the rounds' ratios.",
          {{"packer", "", 58},
           {"MB", "", 5},
           {"GB/s", "best"},
           {"median", "median"},
           {"memcpy", "memcpy"},
           {"share", "share", 6, 1, "%"}}};
}

}  // namespace tw::bench
