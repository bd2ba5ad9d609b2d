#include "tuner/ranking.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "tuner/evidence.h"

namespace tw::tuner {
namespace {

Estimate estimate(const Ratio& ratio) {
  return {std::log(ratio.median), (std::log(ratio.high) - std::log(ratio.low)) / 2};
}

Ratio ratio_of(const Estimate& estimate, size_t rounds) {
  return {std::exp(estimate.log), std::exp(estimate.log - estimate.width),
          std::exp(estimate.log + estimate.width), rounds};
}

/// The mean, in which narrow intervals weigh more; as wide as the records disagree at least.
Estimate combined(const std::vector<Estimate>& estimates) {
  static constexpr double narrowest = 1e-3;  // nobody measures better than to 0.1 %
  double weights = 0;
  double sum = 0;
  const auto weight = [](const Estimate& e) { return std::pow(std::max(e.width, narrowest), -2); };
  for (const Estimate& e : estimates) {
    weights += weight(e);
    sum += weight(e) * e.log;
  }
  const double mean = sum / weights;
  double spread = 0;
  for (const Estimate& e : estimates) spread += weight(e) * std::pow(e.log - mean, 2);
  return {mean, std::max(std::sqrt(1 / weights), std::sqrt(spread / weights))};
}

std::string baseline_of(const Record& record) {
  return record.ratio.rounds == 0 ? identity(record.ran) : record.baseline;
}

bool counts(const Record& record) {
  return record.outcome == Outcome::ok && record.good;
}

std::string most_used_baseline(const std::vector<const Record*>& records) {
  std::map<std::string, size_t> uses;
  for (const Record* record : records) {
    if (counts(*record)) ++uses[baseline_of(*record)];
  }
  const auto most = std::max_element(
      uses.begin(), uses.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == uses.end() ? "" : most->first;
}

Ranked ranked(const std::vector<const Record*>& records) {
  Ranked entry{records[0]->ran, {1, 1, 1, 0}, records.size()};
  std::vector<Estimate> estimates;
  for (const Record* record : records) {
    if (record->ratio.rounds == 0) return entry;  // the baseline
    estimates.push_back(estimate(record->ratio));
    entry.ratio.rounds += record->ratio.rounds;
  }
  entry.ratio = ratio_of(combined(estimates), entry.ratio.rounds);
  return entry;
}

Ranking ranking_of(const std::vector<const Record*>& records) {
  const Record& first = *records[0];
  Ranking ranking{first.core, first.problem, first.regime, first.threads, {}, {}, 0, 0};
  const std::string baseline = most_used_baseline(records);
  std::map<std::string, std::vector<const Record*>> configurations;
  for (const Record* record : records) {
    if (record->outcome != Outcome::ok) {
      ranking.failed.push_back(*record);
    } else if (!record->good) {
      ++ranking.noisy;
    } else if (baseline_of(*record) != baseline) {
      ++ranking.unrelated;
    } else {
      configurations[identity(record->ran)].push_back(record);
    }
  }
  for (const auto& [id, of_one] : configurations) ranking.ranked.push_back(ranked(of_one));
  std::stable_sort(
      ranking.ranked.begin(), ranking.ranked.end(),
      [](const Ranked& a, const Ranked& b) { return a.ratio.median > b.ratio.median; });
  return ranking;
}

}  // namespace

std::vector<Ranking> rank(const std::vector<Record>& records) {
  std::vector<Ranking> rankings;
  for (const auto& cell : cells_of(records)) rankings.push_back(ranking_of(cell));
  return rankings;
}

Ratio lead(const Ranked& first, const Ranked& second) {
  const Estimate a = estimate(first.ratio);
  const Estimate b = estimate(second.ratio);
  // Rounds of a baseline are those of what was compared with it.
  const size_t rounds = first.ratio.rounds == 0 ? second.ratio.rounds
                        : second.ratio.rounds == 0
                            ? first.ratio.rounds
                            : std::min(first.ratio.rounds, second.ratio.rounds);
  return ratio_of({a.log - b.log, std::hypot(a.width, b.width)}, rounds);
}

}  // namespace tw::tuner
