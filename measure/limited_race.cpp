#include "measure/limited_race.h"

#include <algorithm>

namespace tw::measure {
namespace {

constexpr long peak_iterations = 20000;  // about 60 us on a fast core

LimitedRace::Places places(size_t contenders, const tw_kernel& kernel, const Memory* memory) {
  const PeakLoop loop = peak_loop_of(kernel);
  auto next = static_cast<int>(contenders);
  LimitedRace::Places at;
  if (loop.run == nullptr) return at;
  at.compute = next++;
  if (loop.run_loaded != nullptr) at.loaded = next++;
  if (memory != nullptr) at.read = next++;
  return at;
}

constexpr size_t shares_of_thread = 4;  // a thread that is late leaves some to the others

/// `work` on all threads at once: that many times in all.
Contender on_all(Team* team, double work, size_t times, std::function<void(size_t)> share) {
  const double all = work * static_cast<double>(times);
  if (team != nullptr) {
    return {[team, times, share = std::move(share)] { team->share(times, share); }, all};
  }
  return {[times, share = std::move(share)] {
            for (size_t i = 0; i < times; ++i) share(i);
          },
          all};
}

std::vector<Contender> with_limits(std::vector<Contender> contenders, const Limits& limits,
                                   const tw_kernel& kernel, const Memory* memory, Team* team) {
  const PeakLoop loop = peak_loop_of(kernel);
  if (loop.run == nullptr) return contenders;
  const size_t shares = team != nullptr ? shares_of_thread * team->threads() : 1;
  for (const auto run : {loop.run, loop.run_loaded}) {
    if (run == nullptr) continue;
    contenders.push_back(
        on_all(team, loop.macs(peak_iterations), shares, [run](size_t) { run(peak_iterations); }));
  }
  if (memory == nullptr) return contenders;
  const size_t bytes = memory->size() / shares / 64 * 64;
  contenders.push_back(on_all(team, static_cast<double>(bytes), shares,
                              [memory, bytes, read = limits.read](size_t i) {
                                volatile long sink = read(memory->data() + i * bytes, bytes);
                                (void)sink;
                              }));
  return contenders;
}

}  // namespace

LimitedRace::LimitedRace(std::vector<Contender> contenders, const Effort& effort,
                         const Limits& limits, const tw_kernel& kernel, const Memory* memory,
                         Team* team)
    : read_gbs_(limits.read_gbs),
      at_(places(contenders.size(), kernel, memory)),
      race_(with_limits(std::move(contenders), limits, kernel, memory, team), effort) {}

double LimitedRace::limit(double m, double bytes_per_weight) const {
  return smaller(at_.compute, m, bytes_per_weight);
}

double LimitedRace::loaded_limit(double m, double bytes_per_weight) const {
  return smaller(at_.loaded, m, bytes_per_weight);
}

double LimitedRace::smaller(int compute, double m, double bytes_per_weight) const {
  if (compute < 0) return 0;
  const double gmacs = samples(static_cast<size_t>(compute)).best_rate();
  if (at_.read < 0) return gmacs;
  const double read = std::max(read_gbs_, samples(static_cast<size_t>(at_.read)).best_rate());
  return std::min(gmacs, m * read / bytes_per_weight);
}

}  // namespace tw::measure
