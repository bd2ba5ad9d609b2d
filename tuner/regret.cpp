#include "tuner/regret.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tuner/median.h"
#include "tuner/report_text.h"

namespace tw::tuner {
namespace {

bool same_weights(const Problem& a, const Problem& b) {
  return a.family == b.family && a.block == b.block && a.scales == b.scales;
}

bool same_matrix(const Problem& a, const Problem& b) {
  return same_weights(a, b) && a.n == b.n && a.k == b.k;
}

/// What may be chosen in a cell, and what it turns out to take.
struct Options {
  std::map<std::string, const Evidence*> kernels;
  std::vector<std::string> names;  ///< assembly first, as in the registry
  std::string own;                 ///< the baseline's; "": it has no record
};

Options options_of(const CellEvidence& cell) {
  Options options;
  options.kernels = planned_settings(cell);
  for (const auto& [kernel, evidence] : options.kernels) {
    options.names.push_back(kernel);
    if (identity(evidence->run) == cell.baseline) options.own = kernel;
  }
  std::stable_partition(options.names.begin(), options.names.end(), [&](const std::string& kernel) {
    return options.kernels.at(kernel)->run.compiler.empty();
  });
  return options;
}

/// Of those that were measured often enough; the baseline was.
const Evidence& fastest(const CellEvidence& cell) {
  const Evidence* best = nullptr;
  for (const Evidence& e : cell.configurations) {
    if (e.rounds != 0 && e.rounds < kLeastRounds) continue;
    if (best == nullptr || e.faster.log > best->faster.log) best = &e;
  }
  return *best;
}

class LeaveOut {
 public:
  LeaveOut(const std::vector<KnownCell>& cells, const FactsOf& facts_of)
      : cells_(cells), facts_of_(facts_of) {}

  /// "": the rung has nothing to go by.
  std::string choice(Rung rung, const KnownCell& cell, const Options& options) {
    if (rung == Rung::model) return options.own;
    if (rung == Rung::fitted) return by_model(cell, options);
    std::vector<const KnownCell*> near;
    for (const KnownCell& other : cells_) {
      const bool left_out = rung == Rung::same_core ? same_matrix(other.problem, cell.problem)
                                                    : other.core_id == cell.core_id;
      if (!left_out && same_weights(other.problem, cell.problem) && other.regime == cell.regime &&
          other.threads == cell.threads &&
          bucket_of(other.problem.m) == bucket_of(cell.problem.m) &&
          on_rung(other, rung, cell.core, cell.core_id)) {
        near.push_back(&other);
      }
    }
    return least_penalty(kernel_penalties(near), options.names, options.own);
  }

 private:
  const CostModel& model_without(const KnownCell& cell) {
    const Problem& p = cell.problem;
    const std::string key = fmt::format("{} {} {} {} {} {} {}", cell.core_id, p.family, p.n, p.k,
                                        p.block, p.scales, cell.threads);
    const auto known = models_.find(key);
    if (known != models_.end()) return known->second;
    std::vector<const KnownCell*> others;
    for (const KnownCell& other : cells_) {
      if (!same_matrix(other.problem, p) && other.threads == cell.threads) others.push_back(&other);
    }
    return models_.emplace(key, CostModel(others, cell.core, facts_of_)).first->second;
  }

  [[nodiscard]] std::optional<double> predicted(const CostModel& model, const KnownCell& cell,
                                                const std::string& kernel) const {
    const std::optional<KernelFacts> facts = facts_of_(kernel, cell.core);
    return facts ? model.ns(*facts, cell.problem, cell.regime) : std::nullopt;
  }

  std::string by_model(const KnownCell& cell, const Options& options) {
    const CostModel& model = model_without(cell);
    const std::optional<double> own = predicted(model, cell, options.own);
    if (!own) return "";
    std::string best = options.own;
    double least = *own * (1 - kWorthIt);
    for (const std::string& kernel : options.names) {
      const std::optional<double> ns = predicted(model, cell, kernel);
      if (!ns || *ns >= least) continue;
      least = *ns;
      best = kernel;
    }
    return best;
  }

  const std::vector<KnownCell>& cells_;
  const FactsOf& facts_of_;
  std::map<std::string, CostModel> models_;
};

std::vector<KnownCell> cells_that_count(const std::vector<Record>& records) {
  std::map<std::string, std::set<uint64_t>> failed;
  for (const Record& r : records) {
    if (r.outcome != Outcome::ok) failed[identity(r.core)].insert(r.ran.hash);
  }
  return known_cells(records, [&](const Record& r) {
    if (r.outcome != Outcome::ok || r.ran.decodes == "yes") return false;  // rungs choose kernels
    return failed.empty() || failed[identity(r.core)].count(r.ran.hash) == 0;
  });
}

}  // namespace

double RungRegret::median() const {
  std::vector<double> ratios;
  ratios.reserve(cells.size());
  for (const Regret& r : cells) ratios.push_back(r.ratio);
  return tuner::median(ratios);
}

const Regret& RungRegret::worst() const {
  return *std::max_element(cells.begin(), cells.end(),
                           [](const Regret& a, const Regret& b) { return a.ratio < b.ratio; });
}

std::vector<RungRegret> regrets(const std::vector<Record>& records, const FactsOf& facts_of) {
  std::vector<RungRegret> rungs;
  for (const Rung rung : {Rung::same_core, Rung::same_type, Rung::same_pipes, Rung::isa_default,
                          Rung::fitted, Rung::model}) {
    rungs.push_back({rung, {}});
  }
  const std::vector<KnownCell> cells = cells_that_count(records);
  LeaveOut leave_out(cells, facts_of);
  for (const KnownCell& cell : cells) {
    const Options options = options_of(cell.evidence);
    if (options.own.empty() || options.names.size() < 2) continue;
    const Evidence& best = fastest(cell.evidence);
    for (RungRegret& rung : rungs) {
      const std::string kernel = leave_out.choice(rung.rung, cell, options);
      if (kernel.empty()) continue;
      const double slower = best.faster.log - options.kernels.at(kernel)->faster.log;
      rung.cells.push_back({std::exp(std::max(slower, 0.0)), kernel, best.run.kernel, cell.core,
                            cell.problem, cell.regime});
    }
  }
  return rungs;
}

std::string cell_text(const Regret& regret) {
  const Problem& p = regret.problem;
  return fmt::format("n {}, k {}, {}, {}", p.n, p.k, counted_text(p.m, "row"),
                     regret.regime == Regime::hot ? "hot" : "streamed");
}

std::string regret_text(const std::vector<RungRegret>& rungs) {
  std::string text =
      fmt::format("{:<14} {:>5} {:>7} {:>7}  worst where\n", "rung", "cells", "median", "worst");
  for (const RungRegret& rung : rungs) {
    text += fmt::format("{:<14} {:>5}", name(rung.rung), rung.cells.size());
    if (rung.cells.empty()) {
      text += "       -       -\n";
      continue;
    }
    const Regret& worst = rung.worst();
    text += fmt::format(" {:>7.3f} {:>7.3f}", rung.median(), worst.ratio);
    if (worst.ratio > 1) {
      text += fmt::format("  {}: {} instead of {}", cell_text(worst), telling_part(worst.kernel),
                          worst.kernel == worst.best ? "other settings" : telling_part(worst.best));
    }
    text += "\n";
  }
  return text;
}

}  // namespace tw::tuner
