#include "tuner/evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace tw::tuner {
namespace {

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  const size_t half = values.size() / 2;
  return values.size() % 2 != 0 ? values[half] : (values[half - 1] + values[half]) / 2;
}

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

/// The configuration that most ratios of the cell compare with.
std::string common_baseline(const std::vector<const Record*>& records) {
  std::map<std::string, size_t> votes;
  for (const Record* r : records) {
    if (r->ratio.rounds > 0) ++votes[r->baseline];
  }
  const auto most = std::max_element(
      votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != votes.end()) return most->first;
  return records.empty() ? "" : identity(records.front()->ran);
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

const Evidence* best_of(const CellEvidence& cell, uint64_t layout) {
  const Evidence *best = nullptr, *baseline = nullptr;
  for (const Evidence& e : cell.configurations) {
    if (layout != 0 && e.run.layout != layout) continue;
    if (best == nullptr || e.faster.low() > best->faster.low()) best = &e;
    if (identity(e.run) == cell.baseline) baseline = &e;
  }
  const bool sure = best != nullptr && best->faster.low() > 0;
  return sure || baseline == nullptr ? best : baseline;
}

std::map<std::string, double> kernel_penalties(const std::vector<CellEvidence>& cells) {
  std::map<std::string, std::pair<double, double>> sums;  // of logarithms, and how many
  for (const CellEvidence& cell : cells) {
    std::map<std::string, double> fastest;
    double best = -1e9;
    for (const Evidence& e : cell.configurations) {
      const auto [at, is_new] = fastest.try_emplace(e.run.kernel, e.faster.log);
      if (!is_new) at->second = std::max(at->second, e.faster.log);
      best = std::max(best, e.faster.log);
    }
    for (const auto& [kernel, log] : fastest) {
      sums[kernel].first += best - log;
      sums[kernel].second += 1;
    }
  }
  std::map<std::string, double> penalties;
  for (const auto& [kernel, sum] : sums) penalties[kernel] = sum.first / sum.second;
  return penalties;
}

}  // namespace tw::tuner
