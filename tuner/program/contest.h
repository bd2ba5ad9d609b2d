// Configurations of one cell, timed in rounds that interleave them, so that what disturbs the
// machine disturbs all of them alike.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tuner/record.h"

namespace tw::tuner {

/// What a round must find unchanged.
struct Surroundings {
  std::function<double()> clock;        ///< GHz: a chain of dependent adds takes a cycle each
  std::function<long()> interruptions;  ///< of the threads that measure, since they began
  std::function<double()> now;          ///< seconds
};
/// This process's, whose threads all measure.
Surroundings own_surroundings();

class Contest {
 public:
  /// The first entrant is the baseline: it is never dropped.
  explicit Contest(Surroundings around) : around_(std::move(around)) {}

  /// `call` multiplies once. Returns the entrant's number.
  size_t enter(std::function<void()> call);
  [[nodiscard]] size_t size() const { return entrants_.size(); }

  /// Times each entrant that is left once, for about `seconds` each, starting with another one each
  /// time. A round is left out for all when the clock moved in it or a thread was interrupted.
  void round(double seconds);
  /// Drops those whose median is so much slower than the leader's, and the slowest until `most`
  /// are left (the baseline not counted).
  void drop(double slower_than, size_t most);
  void leave(size_t entrant) { entrants_[entrant] = {nullptr, false, 0, entrants_[entrant].ns}; }
  [[nodiscard]] bool is_left(size_t entrant) const { return entrants_[entrant].left; }
  [[nodiscard]] size_t left() const;

  /// The leader's interval against every other entrant that is left excludes 1, or is narrower than
  /// 1.5 % on both sides: a tie in practice.
  [[nodiscard]] bool separated() const;
  [[nodiscard]] size_t leader() const;  ///< least median of those left, by paired ratios
  [[nodiscard]] Times times(size_t entrant) const;
  [[nodiscard]] Ratio ratio(size_t entrant, size_t to) const;  ///< time of `to` / time of entrant
  [[nodiscard]] size_t rounds() const { return rounds_; }
  [[nodiscard]] size_t dropped_rounds() const { return dropped_; }
  [[nodiscard]] double ghz() const;  ///< median of the clock over the rounds

 private:
  struct Entrant {
    std::function<void()> call;
    bool left = true;
    double once = 0;         ///< seconds of a call, by the first
    std::vector<double> ns;  ///< a round each; 0: it took no part
  };
  void time_once(Entrant& entrant);
  [[nodiscard]] double slowness_of(size_t entrant, size_t than) const;

  Surroundings around_;
  std::vector<Entrant> entrants_;
  std::vector<double> clocks_;
  size_t rounds_ = 0, dropped_ = 0, first_ = 0;
};

}  // namespace tw::tuner
