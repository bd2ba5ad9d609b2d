#include "measure/race.h"

#include <algorithm>
#include <cmath>

#include "measure/machine.h"

namespace tw::measure {

double Samples::best_rate() const {
  return work / best(seconds) / 1e9;
}
double Samples::median_rate() const {
  return work / median(seconds) / 1e9;
}

Race::Race(std::vector<Contender> contenders, const Effort& effort)
    : contenders_(std::move(contenders)) {
  for (size_t i = 0; i < contenders_.size(); ++i) {
    calls_.push_back(1);
    samples_.push_back({contenders_[i].work, {}});
    double once = time(i);  // cold: page faults, first touch of its operands
    if (once < 0.2) once = time(i);
    calls_[i] = std::max(1L, std::lround(effort.seconds_per_round / std::max(once, 1e-9)));
    if (calls_[i] > 1) time(i);
  }
}

double Race::time(size_t contender) {
  const std::function<void()>& call = contenders_[contender].call;
  const long calls = calls_[contender];
  const double start = now();
  for (long i = 0; i < calls; ++i) call();
  return (now() - start) / static_cast<double>(calls);
}

double Race::round() {
  const size_t n = contenders_.size();
  for (size_t i = 0; i < n; ++i) {
    const size_t contender = (first_ + i) % n;
    samples_[contender].seconds.push_back(time(contender));
  }
  first_ = first_ + 1 < n ? first_ + 1 : 0;
  return samples_[0].seconds.back();
}

double Race::ratio(size_t a, size_t b) const {
  std::vector<double> ratios;
  for (size_t i = 0; i < samples_[a].seconds.size(); ++i) {
    ratios.push_back(samples_[a].work / samples_[a].seconds[i] /
                     (samples_[b].work / samples_[b].seconds[i]));
  }
  return median(ratios);
}

}  // namespace tw::measure
