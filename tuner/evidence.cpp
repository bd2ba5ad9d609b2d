#include "tuner/evidence.h"

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

CellEvidence cell_evidence(const std::vector<const Record*>& records) {
  CellEvidence cell;
  cell.baseline = common_baseline(records);
  std::map<std::string, std::pair<Configuration, std::vector<Estimate>>> found;
  std::vector<double> baseline_ns;
  for (const Record* r : records) {
    const std::string id = identity(r->ran);
    if (r->ratio.rounds == 0) {
      if (id != cell.baseline) continue;
      baseline_ns.push_back(r->ns.median);
      found[id] = {r->ran, {{0, 1e-4}}};
    } else if (r->baseline == cell.baseline) {
      auto& [run, estimates] = found[id];
      run = r->ran;
      estimates.push_back(estimate_of(r->ratio));
    }
  }
  cell.baseline_ns = median(baseline_ns);
  for (const auto& [id, entry] : found) {
    cell.configurations.push_back({entry.first, combine(entry.second)});
  }
  return cell;
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
