#include "tuner/choose.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <stdexcept>

#include "tuner/evidence.h"
#include "tuner/pipes.h"

namespace tw::tuner {
namespace {

constexpr double kWorthIt = 0.01;  // of the total time: what another layout or kernel must save

struct Destroy {
  void operator()(tw_plan* plan) const { tw_plan_destroy(plan); }
};
using Plan = std::unique_ptr<tw_plan, Destroy>;

/// What the plan would do: of a layout (0: any).
Plan plan_of(const tw_device& device, const Wanted& wanted, uint64_t layout) {
  std::vector<tw_mix> mix;
  for (const Calls& c : wanted.mix) mix.push_back({c.m, c.calls});
  tw_matmul matmul{};
  matmul.family = wanted.family.c_str();
  matmul.n = wanted.n;
  matmul.k = wanted.k;
  matmul.block = wanted.block;
  matmul.scales = scales_from_name(wanted.scales);
  matmul.mix = mix.data();
  matmul.mix_count = mix.size();
  matmul.rhs_layout = layout;
  tw_plan* plan = nullptr;
  if (tw_plan_create(&device, &matmul, &plan) != TW_OK) return nullptr;
  return Plan(plan);
}

const tw_kernel* main_kernel(const tw_plan* plan, size_t m) {
  tw_segment segments[TW_MAX_SEGMENTS];
  size_t count = 0;
  if (tw_plan_segments(plan, m, segments, &count) != TW_OK || count == 0) return nullptr;
  return segments[0].kernel;
}

/// One of the rows that records are grouped by: sizes that behave alike.
size_t bucket_of(size_t m) {
  const size_t firsts[] = {1, 2, 4, 8, 16, 64};
  size_t bucket = 0;
  while (bucket + 1 < std::size(firsts) && m >= firsts[bucket + 1]) ++bucket;
  return bucket;
}

bool same_weights(const Problem& p, const Wanted& wanted) {
  return p.family == wanted.family && p.block == wanted.block && p.scales == wanted.scales;
}

/// The records that may be used at all, and what they are about.
class Usable {
 public:
  Usable(const std::vector<Record>& records, const tw_device& device, const Core& core,
         const Wanted& wanted)
      : core_(core), id_(identity(core)), wanted_(wanted) {
    const std::set<uint64_t> bad = failed_kernels(records, id_);
    for (const Record& r : records) {
      const tw_kernel* kernel = tw_find_kernel(r.ran.kernel.c_str());
      if (r.outcome != Outcome::ok || kernel == nullptr || bad.count(r.ran.hash) != 0) continue;
      if (kernel->content_hash != r.ran.hash || !tw_kernel_supported(kernel, &device)) continue;
      if (!same_weights(r.problem, wanted) || r.regime != wanted.regime) continue;
      if (r.threads == wanted.threads) records_.push_back(&r);
    }
  }

  [[nodiscard]] CellEvidence exact(size_t m) const {
    std::vector<const Record*> found;
    for (const Record* r : records_) {
      const Problem& p = r->problem;
      if (p.m == m && p.n == wanted_.n && p.k == wanted_.k && identity(r->core) == id_) {
        found.push_back(r);
      }
    }
    return cell_evidence(found);
  }

  /// All cells of that rung with about as many rows.
  [[nodiscard]] std::vector<CellEvidence> cells(Rung rung, size_t m) const {
    std::map<std::string, std::vector<const Record*>> by_cell;
    for (const Record* r : records_) {
      if (bucket_of(r->problem.m) != bucket_of(m) || !on_rung(*r, rung)) continue;
      by_cell[fmt::format("{} {} {} {}", identity(r->core), r->problem.n, r->problem.k,
                          r->problem.m)]
          .push_back(r);
    }
    std::vector<CellEvidence> cells;
    cells.reserve(by_cell.size());
    for (const auto& [key, found] : by_cell) cells.push_back(cell_evidence(found));
    return cells;
  }

 private:
  [[nodiscard]] bool on_rung(const Record& r, Rung rung) const {
    switch (rung) {
      case Rung::same_core:
        return identity(r.core) == id_;
      case Rung::same_type:
        return same_type(r.core, core_);
      case Rung::same_pipes:
        return pipe_class(r.core) == pipe_class(core_) && !pipe_class(core_).empty();
      case Rung::isa_default:
        return true;
      default:
        return false;
    }
  }

  const Core& core_;
  std::string id_;
  const Wanted& wanted_;
  std::vector<const Record*> records_;
};

Configuration configuration_of(const tw_kernel& kernel) {
  Configuration run;
  run.kernel = kernel.name;
  run.hash = kernel.content_hash;
  run.isa = kernel.isa;
  run.layout = kernel.rhs->id;
  return run;
}

/// Kernels of a layout by what other cells say, null: nothing worth a change.
const tw_kernel* transferred(const std::map<std::string, double>& penalties, uint64_t layout,
                             const tw_kernel& by_model) {
  const auto known = penalties.find(by_model.name);
  const tw_kernel* best = nullptr;
  double least = known == penalties.end() ? 1e9 : known->second - kWorthIt;
  for (const auto& [name, penalty] : penalties) {
    const tw_kernel* kernel = tw_find_kernel(name.c_str());
    if (kernel->rhs->id != layout || penalty >= least) continue;
    least = penalty;
    best = kernel;
  }
  return best;
}

/// For one number of rows in one layout, by the nearest records.
RowsChoice choose_rows(const Usable& usable, const tw_plan* plan, const Calls& calls,
                       double ns_a_cycle) {
  const uint64_t layout = tw_plan_rhs_layout(plan)->id;
  const tw_kernel* by_model = main_kernel(plan, calls.m);
  RowsChoice rows;
  rows.m = calls.m;
  rows.calls = calls.calls;
  rows.run = configuration_of(*by_model);
  rows.ns = rows.baseline_ns = tw_plan_cycles(plan, calls.m) * ns_a_cycle;
  const CellEvidence cell = usable.exact(calls.m);
  if (const Evidence* best = best_of(cell, layout); best && cell.baseline_ns > 0) {
    rows.rung = Rung::exact;
    rows.run = best->run;
    rows.baseline_ns = cell.baseline_ns;
    rows.ns = cell.baseline_ns / std::exp(best->faster.log);
    return rows;
  }
  for (const Rung rung : {Rung::same_core, Rung::same_type, Rung::same_pipes, Rung::isa_default}) {
    const auto penalties = kernel_penalties(usable.cells(rung, calls.m));
    if (penalties.empty()) continue;
    const tw_kernel* kernel = transferred(penalties, layout, *by_model);
    if (kernel == nullptr && penalties.count(by_model->name) == 0) continue;
    rows.rung = rung;
    if (kernel == nullptr) return rows;
    rows.run = configuration_of(*kernel);
    const auto known = penalties.find(by_model->name);
    if (known != penalties.end()) {
      rows.ns *= std::exp(penalties.at(kernel->name) - known->second);
    }
    return rows;
  }
  return rows;
}

std::vector<uint64_t> layouts_of(const tw_device& device, const Wanted& wanted) {
  std::vector<const tw_kernel*> rows(tw_list_kernels(&device, nullptr, 0));
  tw_list_kernels(&device, rows.data(), rows.size());
  std::vector<uint64_t> layouts;
  for (const tw_kernel* row : rows) {
    if (row->family != wanted.family || row->rhs->block != wanted.block) continue;
    if (row->rhs->block_scales != scales_from_name(wanted.scales)) continue;
    if (std::count(layouts.begin(), layouts.end(), row->rhs->id) == 0) {
      layouts.push_back(row->rhs->id);
    }
  }
  return layouts;
}

}  // namespace

const char* name(Rung rung) {
  switch (rung) {
    case Rung::exact:
      return "exact";
    case Rung::same_core:
      return "same core";
    case Rung::same_type:
      return "same core type";
    case Rung::same_pipes:
      return "same pipes";
    case Rung::isa_default:
      return "ISA default";
    default:
      return "cost model";
  }
}

tw_scales scales_from_name(const std::string& name) {
  if (name == "f32") return TW_SCALES_F32;
  if (name == "f16") return TW_SCALES_F16;
  return name == "bf16" ? TW_SCALES_BF16 : TW_SCALES_UNSET;
}

double Choice::total_ns() const {
  double total = 0;
  for (const RowsChoice& r : rows) total += r.calls * r.ns;
  return total;
}

double Choice::baseline_ns() const {
  double total = 0;
  for (const RowsChoice& r : rows) total += r.calls * r.baseline_ns;
  return total;
}

Choice choose(const std::vector<Record>& records, const tw_device& device, const Core& core,
              const Wanted& wanted) {
  const Plan by_model = plan_of(device, wanted, 0);
  if (by_model == nullptr) throw std::runtime_error(tw_error_message());
  const uint64_t model_layout = tw_plan_rhs_layout(by_model.get())->id;
  const Usable usable(records, device, core, wanted);
  const double ns_a_cycle = 1000.0 / static_cast<double>(core.mhz > 0 ? core.mhz : 3000);
  Choice best;
  double least = 0;
  std::vector<uint64_t> layouts = layouts_of(device, wanted);
  // The model's first: another one must be worth it.
  std::stable_partition(layouts.begin(), layouts.end(),
                        [&](uint64_t layout) { return layout == model_layout; });
  for (const uint64_t layout : layouts) {
    const Plan plan = plan_of(device, wanted, layout);
    if (plan == nullptr) continue;
    Choice choice;
    choice.layout = layout;
    for (const Calls& calls : wanted.mix) {
      choice.rows.push_back(choose_rows(usable, plan.get(), calls, ns_a_cycle));
    }
    const double total = choice.total_ns();
    if (best.layout != 0 && total > least * (1 - kWorthIt)) continue;
    best = choice;
    least = total;
  }
  return best;
}

std::vector<tw_setting> settings_of(const Choice& choice) {
  constexpr size_t ranges_from = 8;
  std::vector<const RowsChoice*> sorted;
  for (const RowsChoice& rows : choice.rows) {
    if (rows.rung != Rung::model) sorted.push_back(&rows);
  }
  std::sort(sorted.begin(), sorted.end(), [](auto* a, auto* b) { return a->m < b->m; });
  std::vector<tw_setting> settings;
  for (size_t i = 0; i < sorted.size(); ++i) {
    const RowsChoice& rows = *sorted[i];
    tw_setting setting{rows.m, rows.m, rows.run.kernel.c_str(), {}};
    if (rows.m >= ranges_from) {
      const bool first = i == 0 || sorted[i - 1]->m < ranges_from;
      setting.m_first = first ? ranges_from : settings.back().m_last + 1;
      const bool last = i + 1 == sorted.size();
      const double next = last ? 0 : static_cast<double>(sorted[i + 1]->m);
      setting.m_last =
          last ? SIZE_MAX : static_cast<size_t>(std::sqrt(static_cast<double>(rows.m) * next));
    }
    if (rows.rung == Rung::exact) {
      setting.tuning.n_block = rows.run.n_block;
      // Rows that were not cut there are not cut in all of the range, which may have no end.
      const bool uncut = rows.run.m_block >= rows.m;
      setting.tuning.m_block = !uncut ? rows.run.m_block : i + 1 == sorted.size() ? 0 : SIZE_MAX;
      setting.tuning.rhs_prefetch = rows.run.prefetch == 0 ? TW_PREFETCH_OFF : rows.run.prefetch;
      setting.tuning.order = rows.run.order == "rows" ? TW_ROWS_FIRST : TW_COLUMNS_FIRST;
    }
    settings.push_back(setting);
  }
  return settings;
}

}  // namespace tw::tuner
