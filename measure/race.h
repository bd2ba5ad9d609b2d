// Timing of contenders in interleaved rounds, so that a ratio compares neighbours in time.
#pragma once

#include <functional>
#include <string>
#include <vector>

namespace tw::measure {

/// Something to time. `call` does one unit of work; it may take the next of several operands.
struct Contender {
  std::function<void()> call;
  double work = 0;  ///< MACs or bytes of one call, for rate()
};

/// One contender's seconds per call, a value per round.
struct Samples {
  double work = 0;
  std::vector<double> seconds;
  [[nodiscard]] double best_rate() const;  ///< 1e9 work a second, of the fastest round
  [[nodiscard]] double median_rate() const;
};

/// How long to measure.
struct Effort {
  int rounds = 9;
  double seconds_per_round = 0.02;  ///< of one contender; at least one call is made
};

/// Times contenders round by round, each round in a new order. Construction warms each of them up
/// and finds how many calls fill a round.
class Race {
 public:
  Race(std::vector<Contender> contenders, const Effort& effort);
  /// Runs one round of every contender; returns the seconds of one call of the first.
  double round();
  [[nodiscard]] const std::vector<Samples>& samples() const { return samples_; }
  /// Median over the rounds of rate(contender a) / rate(contender b).
  [[nodiscard]] double ratio(size_t a, size_t b) const;

 private:
  double time(size_t contender);
  std::vector<Contender> contenders_;
  std::vector<long> calls_;
  std::vector<Samples> samples_;
  size_t first_ = 0;
};

}  // namespace tw::measure
