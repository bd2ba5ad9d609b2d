#include "tuner/rungs.h"

#include <algorithm>
#include <limits>
#include <tuple>

#include "tuner/pipes.h"

namespace tw::tuner {
namespace {

auto key(const KnownCell& c) {
  const Problem& p = c.problem;
  return std::tie(c.core_id, p.family, p.n, p.k, p.block, p.scales, p.m, c.regime, c.threads);
}

int likeness(const Configuration& a, const Configuration& b) {
  return (a.n_block == b.n_block) + (a.m_block == b.m_block) + (a.order == b.order) +
         (a.prefetch == b.prefetch) + (a.decodes == b.decodes);
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
    case Rung::fitted:
      return "fitted model";
    default:
      return "cost model";
  }
}

std::vector<KnownCell> known_cells(const std::vector<Record>& records,
                                   const std::function<bool(const Record&)>& counts) {
  std::vector<KnownCell> known;
  for (const std::vector<const Record*>& all : cells_of(records)) {
    std::vector<const Record*> counted;
    std::copy_if(all.begin(), all.end(), std::back_inserter(counted),
                 [&](const Record* r) { return counts(*r); });
    if (counted.empty()) continue;
    const Record& r = *all[0];
    known.push_back(
        {r.core, identity(r.core), r.problem, r.regime, r.threads, cell_evidence(counted)});
  }
  std::sort(known.begin(), known.end(),
            [](const KnownCell& a, const KnownCell& b) { return key(a) < key(b); });
  return known;
}

size_t bucket_of(size_t m) {
  const size_t firsts[] = {1, 2, 4, 8, 16, 64};
  size_t bucket = 0;
  while (bucket + 1 < std::size(firsts) && m >= firsts[bucket + 1]) ++bucket;
  return bucket;
}

bool on_rung(const KnownCell& cell, Rung rung, const Core& core, const std::string& core_id) {
  switch (rung) {
    case Rung::same_core:
      return cell.core_id == core_id;
    case Rung::same_type:
      return same_type(cell.core, core);
    case Rung::same_pipes:
      return pipe_class(cell.core) == pipe_class(core) && !pipe_class(core).empty();
    default:
      return rung == Rung::isa_default;
  }
}

Penalties kernel_penalties(const std::vector<const KnownCell*>& cells) {
  std::map<std::string, std::pair<double, double>> sums;  // of logarithms, and how many
  for (const KnownCell* cell : cells) {
    std::map<std::string, double> fastest;
    double best = -1e9;
    for (const Evidence& e : cell->evidence.configurations) {
      if (e.run.decodes == "yes") continue;  // products by other kernels
      const auto [at, is_new] = fastest.try_emplace(e.run.kernel, e.faster.log);
      if (!is_new) at->second = std::max(at->second, e.faster.log);
      best = std::max(best, e.faster.log);
    }
    for (const auto& [kernel, log] : fastest) {
      sums[kernel].first += best - log;
      sums[kernel].second += 1;
    }
  }
  Penalties penalties;
  for (const auto& [kernel, sum] : sums) penalties[kernel] = sum.first / sum.second;
  return penalties;
}

std::string least_penalty(const Penalties& penalties, const std::vector<std::string>& candidates,
                          const std::string& own) {
  const auto of_own = penalties.find(own);
  std::string best = of_own == penalties.end() ? "" : own;
  double least =
      of_own == penalties.end() ? std::numeric_limits<double>::max() : of_own->second - kWorthIt;
  for (const std::string& candidate : candidates) {
    const auto found = penalties.find(candidate);
    if (found == penalties.end() || found->second >= least) continue;
    least = found->second;
    best = candidate;
  }
  return best;
}

std::map<std::string, const Evidence*> planned_settings(const CellEvidence& cell) {
  Configuration planned;
  for (const Evidence& e : cell.configurations) {
    if (identity(e.run) == cell.baseline) planned = e.run;
  }
  std::map<std::string, const Evidence*> kernels;
  for (const Evidence& e : cell.configurations) {
    if (e.run.decodes == "yes") continue;
    const Evidence*& nearest = kernels[e.run.kernel];
    if (nearest == nullptr || likeness(e.run, planned) > likeness(nearest->run, planned)) {
      nearest = &e;
    }
  }
  return kernels;
}

}  // namespace tw::tuner
