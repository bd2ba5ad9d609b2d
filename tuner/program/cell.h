// One number of rows of one weight matrix: its candidates, their race, their records.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "measure/planned_matmul.h"
#include "tuner/program/candidate.h"
#include "tuner/program/contest.h"
#include "tuner/program/search.h"

namespace tw::tuner {

/// The weights of a search, in every layout that its candidates read.
class Shape {
 public:
  /// Runs at most so many columns that a multiplication of the most rows takes some milliseconds.
  explicit Shape(const SearchInput& input);
  /// Plan and operands of a candidate for m rows. Throws std::runtime_error.
  std::unique_ptr<measure::PlannedMatmul> make(const Candidate& candidate, size_t m);
  [[nodiscard]] size_t columns() const { return weights_.n; }
  [[nodiscard]] size_t rhs_bytes(uint64_t layout) const;  ///< of the whole problem; 0: unknown

 private:
  std::shared_ptr<measure::Activations> activations(size_t m);

  const SearchInput& input_;
  size_t rotate_bytes_;
  measure::Weights weights_;
  std::map<uint64_t, std::shared_ptr<measure::PackedWeights>> packed_;
  std::shared_ptr<measure::Activations> activations_;  ///< of the m that was asked for last
};

class Cell {
 public:
  Cell(const SearchInput& input, Shape& shape, size_t m, Watch& watch, const Emit& emit);
  [[nodiscard]] size_t m() const { return m_; }

  /// Lets a candidate take part unless it does already, is banned, or computes wrong values, which
  /// its record then says. The first one is the baseline.
  void enter(const Candidate& candidate);
  /// Rounds until there are so many more, `seconds` have passed, or (with `separate`) the leader is
  /// separated. At least one.
  void race(size_t rounds, double seconds, bool separate);
  void drop(double slower_than, size_t most);
  /// How many different candidates were to take part.
  [[nodiscard]] size_t tried() const { return seen_.size(); }
  /// The leader and what follows it, best first, of those left.
  [[nodiscard]] std::vector<Candidate> best(size_t count) const;
  /// Nanoseconds of the best candidate of each layout.
  [[nodiscard]] std::map<uint64_t, double> layout_times() const;
  /// Drops all candidates of other layouts.
  void keep_layouts(const std::vector<uint64_t>& layouts);
  /// The records of all that took part; the baseline's last.
  void report() const;

 private:
  struct Entrant {
    Candidate candidate;
    Configuration run;
    std::shared_ptr<measure::PlannedMatmul> matmul;
    unsigned number = 0;  ///< for the watch
  };
  [[nodiscard]] Record record_of(const Configuration& run) const;
  bool works(Entrant& entrant);
  void free_losers();

  const SearchInput& input_;
  Shape& shape_;
  size_t m_;
  Watch& watch_;
  const Emit& emit_;
  Contest contest_;
  std::vector<Entrant> entrants_;
  std::vector<std::string> seen_;
};

}  // namespace tw::tuner
