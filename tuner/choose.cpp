#include "tuner/choose.h"

#include <cmath>
#include <set>
#include <stdexcept>

#include "tuner/plans.h"

namespace tw::tuner {
namespace {

/// What this program has in just that form, the device runs, and no such core failed with.
bool counts(const Record& record, const tw_device& device, const std::set<uint64_t>& failed) {
  const tw_kernel* kernel = tw_find_kernel(record.ran.kernel.c_str());
  return record.outcome == Outcome::ok && kernel != nullptr &&
         kernel->content_hash == record.ran.hash && tw_kernel_supported(kernel, &device) != 0 &&
         failed.count(record.ran.hash) == 0;
}

Configuration configuration_of(const tw_kernel& kernel) {
  Configuration run;
  run.kernel = kernel.name;
  run.hash = kernel.content_hash;
  run.isa = kernel.isa;
  run.layout = kernel.rhs->id;
  return run;
}

class Chooser {
 public:
  Chooser(const std::vector<Record>& records, const tw_device& device, const Core& core,
          const Wanted& wanted)
      : device_(device),
        core_(core),
        core_id_(identity(core)),
        wanted_(wanted),
        failed_(failed_kernels(records, core_id_)),
        cells_(known_cells(records,
                           [&](const Record& r) {
                             return r.threads == wanted.threads && counts(r, device, failed_);
                           })),
        model_(all_cells(), core, registry_facts),
        kernels_(kernels_for(device, wanted)),
        own_plan_(plan_of(device, wanted, 0)) {
    if (own_plan_ == nullptr) throw std::runtime_error(tw_error_message());
  }

  [[nodiscard]] Choice choose() const {
    std::map<uint64_t, Choice> choices;
    std::map<uint64_t, TotalTime> totals;
    for (const tw_kernel* kernel : kernels_) {
      const uint64_t layout = kernel->rhs->id;
      if (choices.count(layout) != 0) continue;
      Choice& choice = choices[layout];
      choice.layout = layout;
      const Plan plan = plan_of(device_, wanted_, layout);
      if (plan == nullptr) continue;
      for (const Calls& calls : wanted_.mix) {
        choice.rows.push_back(choose_rows(plan.get(), calls));
        const RowsChoice& rows = choice.rows.back();
        totals[layout].add(rows.calls * rows.ns, rows.width);
      }
    }
    return choices[best_layout(totals, tw_plan_rhs_layout(own_plan_.get())->id)];
  }

 private:
  [[nodiscard]] std::vector<const KnownCell*> all_cells() const {
    std::vector<const KnownCell*> all;
    for (const KnownCell& cell : cells_) all.push_back(&cell);
    return all;
  }

  [[nodiscard]] const CellEvidence* exact(size_t m) const {
    for (const KnownCell& c : cells_) {
      const Problem& p = c.problem;
      if (p.m == m && p.n == wanted_.n && p.k == wanted_.k && c.core_id == core_id_ &&
          is_of_weights(p, wanted_) && c.regime == wanted_.regime) {
        return &c.evidence;
      }
    }
    return nullptr;
  }

  [[nodiscard]] Penalties penalties(Rung rung, size_t m) const {
    std::vector<const KnownCell*> near;
    for (const KnownCell& c : cells_) {
      if (bucket_of(c.problem.m) == bucket_of(m) && is_of_weights(c.problem, wanted_) &&
          c.regime == wanted_.regime && on_rung(c, rung, core_, core_id_)) {
        near.push_back(&c);
      }
    }
    return kernel_penalties(near);
  }

  [[nodiscard]] std::optional<double> fitted_ns(const tw_kernel& kernel, size_t m) const {
    const std::optional<KernelFacts> facts = registry_facts(kernel.name, core_);
    if (!facts) return std::nullopt;
    const Problem problem{wanted_.family, wanted_.n, wanted_.k, wanted_.block, wanted_.scales, m};
    return model_.ns(*facts, problem, wanted_.regime);
  }

  /// Of what the plan does by itself, as well as it is known.
  [[nodiscard]] double own_ns(size_t m) const {
    const CellEvidence* cell = exact(m);
    if (cell != nullptr && cell->baseline_ns > 0) return cell->baseline_ns;
    if (const auto ns = fitted_ns(*main_kernel(own_plan_.get(), m), m)) return *ns;
    const double mhz = core_.mhz > 0 ? static_cast<double>(core_.mhz) : 3000;
    return tw_plan_cycles(own_plan_.get(), m) * 1000 / mhz;
  }

  /// For one number of rows in one layout, by the nearest records.
  [[nodiscard]] RowsChoice choose_rows(const tw_plan* plan, const Calls& calls) const {
    const tw_kernel* planned = main_kernel(plan, calls.m);
    RowsChoice rows;
    rows.m = calls.m;
    rows.calls = calls.calls;
    rows.run = configuration_of(*planned);
    rows.baseline_ns = own_ns(calls.m);
    rows.ns =
        rows.baseline_ns * tw_plan_cycles(plan, calls.m) / tw_plan_cycles(own_plan_.get(), calls.m);
    if (by_exact(rows)) return rows;
    for (const Rung rung :
         {Rung::same_core, Rung::same_type, Rung::same_pipes, Rung::isa_default}) {
      if (by_penalties(rows, rung, *planned)) return rows;
    }
    by_model(rows, *planned);
    return rows;
  }

  bool by_exact(RowsChoice& rows) const {
    const CellEvidence* cell = exact(rows.m);
    if (cell == nullptr || cell->baseline_ns <= 0) return false;
    const Evidence* best = best_of(*cell, rows.run.layout);
    if (best == nullptr) return false;
    rows.rung = Rung::exact;
    rows.run = best->run;
    rows.ns = cell->baseline_ns / std::exp(best->faster.log);
    rows.width = best->faster.width;
    return true;
  }

  bool by_penalties(RowsChoice& rows, Rung rung, const tw_kernel& planned) const {
    const Penalties known = penalties(rung, rows.m);
    std::vector<std::string> candidates;
    for (const tw_kernel* kernel : kernels_of(rows.run.layout)) candidates.push_back(kernel->name);
    const std::string best = least_penalty(known, candidates, planned.name);
    if (best.empty()) return false;
    rows.rung = rung;
    rows.run = configuration_of(*tw_find_kernel(best.c_str()));
    // By what both are known to take, across layouts where that is possible.
    const auto own = known.find(main_kernel(own_plan_.get(), rows.m)->name);
    if (own != known.end()) {
      rows.ns = rows.baseline_ns * std::exp(known.at(best) - own->second);
    } else if (known.count(planned.name) != 0) {
      rows.ns *= std::exp(known.at(best) - known.at(planned.name));
    }
    return true;
  }

  void by_model(RowsChoice& rows, const tw_kernel& planned) const {
    const std::optional<double> own = fitted_ns(*main_kernel(own_plan_.get(), rows.m), rows.m);
    const std::optional<double> planned_ns = fitted_ns(planned, rows.m);
    if (!own || !planned_ns) return;
    rows.rung = Rung::fitted;
    double least = *planned_ns * (1 - kWorthIt);
    rows.ns = rows.baseline_ns * *planned_ns / *own;
    for (const tw_kernel* kernel : kernels_of(rows.run.layout)) {
      const std::optional<double> ns = fitted_ns(*kernel, rows.m);
      if (!ns || *ns >= least || !may_replace(*kernel, planned)) continue;
      least = *ns;
      rows.run = configuration_of(*kernel);
      rows.ns = rows.baseline_ns * *ns / *own;
    }
  }

  /// What no record is of must at least be made for such a core, and be accepted by a plan.
  [[nodiscard]] bool may_replace(const tw_kernel& kernel, const tw_kernel& planned) const {
    return kernel.in_order == planned.in_order && failed_.count(kernel.content_hash) == 0 &&
           plan_of(device_, wanted_, kernel.rhs->id, kernel.name) != nullptr;
  }

  [[nodiscard]] std::vector<const tw_kernel*> kernels_of(uint64_t layout) const {
    std::vector<const tw_kernel*> kernels;
    for (const tw_kernel* kernel : kernels_) {
      if (kernel->rhs->id == layout) kernels.push_back(kernel);
    }
    return kernels;
  }

  const tw_device& device_;
  const Core& core_;
  std::string core_id_;
  const Wanted& wanted_;
  std::set<uint64_t> failed_;
  std::vector<KnownCell> cells_;
  CostModel model_;
  std::vector<const tw_kernel*> kernels_;
  Plan own_plan_;
};

}  // namespace

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
  return Chooser(records, device, core, wanted).choose();
}

}  // namespace tw::tuner
