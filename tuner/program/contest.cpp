#include "tuner/program/contest.h"

#include <sys/resource.h>

#include <algorithm>
#include <cmath>

#include "measure/machine_limits.h"
#include "tuner/evidence.h"

namespace tw::tuner {
namespace {

using measure::median;

long own_interruptions() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_nivcsw;
}

/// How many of n values on either side of the median's 95 % interval lie outside it: the largest d
/// such that P(fewer than d + 1 of n fair coins are heads) <= 2.5 %. n >= 6.
size_t outside(size_t n) {
  double term = std::pow(0.5, static_cast<double>(n)), sum = term;
  size_t d = 0;
  while (sum <= 0.025) {
    ++d;
    term *= static_cast<double>(n - d + 1) / static_cast<double>(d);
    sum += term;
  }
  return d == 0 ? 0 : d - 1;
}

}  // namespace

Surroundings own_surroundings() {
  return {[] { return measure::clock_ghz(1 << 16); }, own_interruptions, measure::now};
}

size_t Contest::enter(std::function<void()> call) {
  entrants_.push_back({std::move(call), true, 0, std::vector<double>(rounds_, 0)});
  time_once(entrants_.back());
  return entrants_.size() - 1;
}

void Contest::time_once(Entrant& entrant) {
  entrant.call();  // touches its operands for the first time
  const double start = around_.now();
  entrant.call();
  entrant.once = std::max(around_.now() - start, 1e-8);
}

void Contest::round(double seconds) {
  const size_t n = entrants_.size();
  double slowest = 0;
  for (const Entrant& e : entrants_) {
    if (e.left) slowest = std::max(slowest, e.once);
  }
  const long calls = std::max(1L, std::lround(seconds / slowest));
  const double before = around_.clock();
  const long interrupted = around_.interruptions();
  std::vector<double> ns(n, 0);
  for (size_t i = 0; i < n; ++i) {
    const size_t at = (first_ + i) % n;
    if (!entrants_[at].left) continue;
    const double start = around_.now();
    for (long c = 0; c < calls; ++c) entrants_[at].call();
    ns[at] = (around_.now() - start) / static_cast<double>(calls) * 1e9;
  }
  first_ = (first_ + 1) % n;
  const double after = around_.clock();
  ++rounds_;
  clocks_.push_back(std::max(before, after));
  const bool steady = std::abs(after - before) <= 0.03 * std::max(before, after);
  const bool valid = steady && around_.interruptions() == interrupted;
  if (!valid) ++dropped_;
  // A machine that is always disturbed is measured all the same; its records say so.
  const bool keep = valid || dropped_ * 2 > rounds_;
  for (size_t i = 0; i < n; ++i) entrants_[i].ns.push_back(keep ? ns[i] : 0);
}

size_t Contest::left() const {
  return static_cast<size_t>(
      std::count_if(entrants_.begin(), entrants_.end(), [](const Entrant& e) { return e.left; }));
}

Ratio Contest::ratio(size_t entrant, size_t to) const {
  std::vector<double> ratios;
  const std::vector<double>&a = entrants_[entrant].ns, &b = entrants_[to].ns;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] > 0 && b[i] > 0) ratios.push_back(b[i] / a[i]);
  }
  Ratio ratio;
  ratio.rounds = ratios.size();
  if (ratios.empty()) return ratio;
  std::sort(ratios.begin(), ratios.end());
  ratio.median = median(ratios);
  if (ratios.size() < kLeastRounds) {  // no interval: anything is possible
    ratio.low = ratio.median / 1000;
    ratio.high = ratio.median * 1000;
    return ratio;
  }
  const size_t d = outside(ratios.size());
  ratio.low = ratios[d];
  ratio.high = ratios[ratios.size() - 1 - d];
  return ratio;
}

size_t Contest::leader() const {
  size_t best = 0;
  double fastest = 1;
  for (size_t i = 1; i < entrants_.size(); ++i) {
    if (!entrants_[i].left) continue;
    const Ratio r = ratio(i, 0);
    if (r.rounds > 0 && r.median > fastest) {
      fastest = r.median;
      best = i;
    }
  }
  return best;
}

/// Of entrants that shared no round by way of the baseline, which is in all of them.
double Contest::slowness_of(size_t entrant, size_t than) const {
  const Ratio direct = ratio(entrant, than);
  if (direct.rounds > 0) return 1 / direct.median;
  const Ratio a = ratio(entrant, 0), b = ratio(than, 0);
  return a.rounds == 0 || b.rounds == 0 ? 1e9 : b.median / a.median;
}

void Contest::drop(double slower_than, size_t most) {
  const size_t best = leader();
  std::vector<std::pair<double, size_t>> slowness;  // of those that may go
  for (size_t i = 1; i < entrants_.size(); ++i) {
    if (!entrants_[i].left || i == best) continue;
    const double slower = slowness_of(i, best);
    if (slower > 1 + slower_than) {
      leave(i);
    } else {
      slowness.push_back({slower, i});
    }
  }
  std::sort(slowness.begin(), slowness.end());
  const size_t keep = best == 0 ? most : most - 1;
  for (size_t i = keep; i < slowness.size(); ++i) leave(slowness[i].second);
}

bool Contest::separated() const {
  constexpr double tie = 0.015;
  const size_t best = leader();
  for (size_t i = 0; i < entrants_.size(); ++i) {
    if (i == best || !entrants_[i].left) continue;
    const Ratio r = ratio(best, i);
    if (r.rounds < kLeastRounds) return false;
    const bool tied = r.low > 1 - tie && r.high < 1 + tie;
    if (r.low <= 1 && !tied) return false;
  }
  return true;
}

Times Contest::times(size_t entrant) const {
  Times times;
  for (const double ns : entrants_[entrant].ns) {
    if (ns > 0) times.samples.push_back(std::round(ns * 10) / 10);
  }
  if (times.samples.empty()) return times;
  std::vector<double> sorted = times.samples;
  std::sort(sorted.begin(), sorted.end());
  times.median = median(sorted);
  times.p20 = sorted[sorted.size() / 5];
  times.least = sorted.front();
  return times;
}

double Contest::ghz() const {
  return clocks_.empty() ? 0 : median(clocks_);
}

}  // namespace tw::tuner
