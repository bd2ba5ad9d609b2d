#include "tuner/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "tuner/median.h"

namespace tw::tuner {
namespace {

/// The mean weighted by 1 / width^2. Runs that disagree are worth no more than their spread,
/// weighted likewise.
Estimate combine(const std::vector<Estimate>& estimates) {
  double weights = 0, sum = 0;
  for (const Estimate& e : estimates) {
    const double weight = 1 / (e.width * e.width);
    weights += weight;
    sum += weight * e.log;
  }
  Estimate all{sum / weights, std::sqrt(1 / weights)};
  if (estimates.size() < 2) return all;
  double spread = 0;
  for (const Estimate& e : estimates) {
    spread += (e.log - all.log) * (e.log - all.log) / (e.width * e.width);
  }
  const auto others = static_cast<double>(estimates.size() - 1);
  all.width = std::max(all.width, 2 * std::sqrt(spread / weights / others));
  return all;
}

Estimate estimate_of(const Ratio& ratio) {
  constexpr double finest = 1e-4;  // clocks and schedulers allow no more
  const double below = std::log(ratio.median / ratio.low);
  return {std::log(ratio.median), std::max(below, finest)};
}

/// The configuration that most ratios of the cell compare with; without any, the one that was
/// measured alone most often.
std::string common_baseline(const std::vector<const Record*>& records) {
  std::map<std::string, size_t> votes, alone;
  for (const Record* r : records) {
    if (r->ratio.rounds > 0) {
      ++votes[r->baseline];
    } else {
      ++alone[identity(r->ran)];
    }
  }
  if (votes.empty()) votes = alone;
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == votes.end() ? "" : most->first;
}

/// Over the layouts of a cell, relative to its baseline.
const Evidence* best_of_all(const CellEvidence& cell) {
  std::map<uint64_t, TotalTime> totals;
  for (const Evidence& e : cell.configurations) {
    if (totals.count(e.run.layout) != 0) continue;
    const Estimate& faster = best_of(cell, e.run.layout)->faster;
    totals[e.run.layout].add(std::exp(-faster.log), faster.width);
  }
  if (totals.empty()) return nullptr;
  return best_of(cell, best_layout(totals, cell.baseline_layout()));
}

}  // namespace

std::vector<std::vector<const Record*>> cells_of(const std::vector<Record>& records) {
  std::vector<std::vector<const Record*>> cells;
  std::map<std::string, size_t> index;
  for (const Record& record : records) {
    const Problem& p = record.problem;
    const std::string key =
        fmt::format("{} {} {} {} {} {} {} {} {}", identity(record.core), p.family, p.n, p.k,
                    p.block, p.scales, p.m, static_cast<int>(record.regime), record.threads);
    const auto [at, added] = index.try_emplace(key, cells.size());
    if (added) cells.emplace_back();
    cells[at->second].push_back(&record);
  }
  return cells;
}

std::set<uint64_t> failed_kernels(const std::vector<Record>& records, const std::string& core) {
  std::set<uint64_t> failed;
  for (const Record& r : records) {
    if (r.outcome != Outcome::ok && identity(r.core) == core) failed.insert(r.ran.hash);
  }
  return failed;
}

CellEvidence cell_evidence(const std::vector<const Record*>& records) {
  CellEvidence cell;
  cell.baseline = common_baseline(records);
  struct Found {
    Evidence evidence;
    std::vector<Estimate> estimates;
  };
  std::map<std::string, Found> found;
  std::vector<double> baseline_ns;
  for (const Record* r : records) {
    const std::string id = identity(r->ran);
    if (r->ratio.rounds == 0) {
      if (id != cell.baseline) continue;
      baseline_ns.push_back(r->ns.median);
      found[id].estimates = {{0, 1e-4}};
    } else if (r->baseline == cell.baseline) {
      found[id].estimates.push_back(estimate_of(r->ratio));
    } else {
      continue;
    }
    Evidence& evidence = found[id].evidence;
    evidence.run = r->ran;
    evidence.rounds = std::max(evidence.rounds, r->ratio.rounds);
    evidence.noisy += r->good ? 0 : 1;
  }
  cell.baseline_ns = median(baseline_ns);
  for (auto& [id, entry] : found) {
    entry.evidence.faster = combine(entry.estimates);
    cell.configurations.push_back(entry.evidence);
  }
  return cell;
}

uint64_t CellEvidence::baseline_layout() const {
  for (const Evidence& e : configurations) {
    if (identity(e.run) == baseline) return e.run.layout;
  }
  return 0;
}

void TotalTime::add(double some_ns, double width) {
  // Rounds too few for an interval prove that much: one rare number of rows, measured in passing,
  // must not outweigh all others.
  constexpr double widest = 0.7;
  ns += some_ns;
  variance += std::pow(some_ns * std::min(width, widest), 2);
}

double TotalTime::surely() const {
  return ns > 0 ? ns * std::exp(std::sqrt(variance) / ns) : 0;
}

uint64_t best_layout(const std::map<uint64_t, TotalTime>& totals, uint64_t own) {
  const auto by_plan = totals.find(own);
  const bool known = by_plan != totals.end();
  uint64_t best = known ? own : 0;
  double least = known ? by_plan->second.surely() * (1 - kWorthIt) : 0;
  for (const auto& [layout, total] : totals) {
    if (best != 0 && !(total.surely() < least)) continue;
    if (layout == own) continue;
    best = layout;
    least = total.surely();
  }
  return best;
}

const Evidence* best_of(const CellEvidence& cell, uint64_t layout) {
  if (layout == 0) return best_of_all(cell);
  const Evidence *best = nullptr, *baseline = nullptr;
  for (const Evidence& e : cell.configurations) {
    if (e.run.layout != layout) continue;
    if (best == nullptr || e.faster.low() > best->faster.low()) best = &e;
    if (identity(e.run) == cell.baseline) baseline = &e;
  }
  const bool sure = best != nullptr && best->faster.low() > 0;
  return sure || baseline == nullptr ? best : baseline;
}

}  // namespace tw::tuner
