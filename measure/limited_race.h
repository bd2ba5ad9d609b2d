// A race of kernels in which the machine's limits take part: the clock drifts while a report is
// made, so each row's compute limit is measured in that row's own rounds. Reading memory only gets
// slower by disturbance: its limit is the best of the row's rounds and of the start of the run.
#pragma once

#include "measure/machine_limits.h"
#include "measure/race.h"
#include "measure/team.h"
#include "tilewright/registry.h"

namespace tw::measure {

class LimitedRace {
 public:
  /// Contenders that are limits; -1: there is none.
  struct Places {
    int compute = -1, loaded = -1, read = -1;
  };
  /// `kernel` says which compute limit applies. Streamed weights are read from `memory`; null: the
  /// weights are hot, there is no memory limit. A team's limits are those of all of its threads at
  /// the same time; null: those of the caller alone.
  LimitedRace(std::vector<Contender> contenders, const Effort& effort, const Limits& limits,
              const tw_kernel& kernel, const Memory* memory, Team* team = nullptr);
  double round() { return race_.round(); }
  [[nodiscard]] const Samples& samples(size_t contender) const {
    return race_.samples()[contender];
  }
  [[nodiscard]] double ratio(size_t a, size_t b) const { return race_.ratio(a, b); }
  /// 1e9 MACs a second of `m` rows: the compute limit or, if smaller, what reading the weights
  /// allows. 0: there is no limit loop for the kernel's ISA.
  [[nodiscard]] double limit(double m, double bytes_per_weight) const;
  /// The same with loads beside what multiplies. 0: there is no such loop.
  [[nodiscard]] double loaded_limit(double m, double bytes_per_weight) const;

 private:
  [[nodiscard]] double smaller(int compute, double m, double bytes_per_weight) const;
  double read_gbs_;  ///< at least; what one thread reads
  Places at_;
  Race race_;
};

}  // namespace tw::measure
