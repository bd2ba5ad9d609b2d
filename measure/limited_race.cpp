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

std::vector<Contender> with_limits(std::vector<Contender> contenders, const Limits& limits,
                                   const tw_kernel& kernel, const Memory* memory) {
  const PeakLoop loop = peak_loop_of(kernel);
  if (loop.run == nullptr) return contenders;
  for (const auto run : {loop.run, loop.run_loaded}) {
    if (run == nullptr) continue;
    contenders.push_back({[run] { run(peak_iterations); }, loop.macs(peak_iterations)});
  }
  if (memory == nullptr) return contenders;
  contenders.push_back({[memory, read = limits.read] {
                          volatile long sink = read(memory->data(), memory->size());
                          (void)sink;
                        },
                        static_cast<double>(memory->size())});
  return contenders;
}

}  // namespace

LimitedRace::LimitedRace(std::vector<Contender> contenders, const Effort& effort,
                         const Limits& limits, const tw_kernel& kernel, const Memory* memory)
    : read_gbs_(limits.read_gbs),
      at_(places(contenders.size(), kernel, memory)),
      race_(with_limits(std::move(contenders), limits, kernel, memory), effort) {}

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
