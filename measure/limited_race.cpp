#include "measure/limited_race.h"

#include <algorithm>

namespace tw::measure {
namespace {

constexpr long peak_iterations = 20000;  // about 60 us on a fast core

bool has_peak(const tw_kernel& kernel) {
  return peak_loop_of(kernel).run != nullptr;
}

std::vector<Contender> with_limits(std::vector<Contender> contenders, const Limits& limits,
                                   const tw_kernel& kernel, const Memory* memory) {
  const PeakLoop loop = peak_loop_of(kernel);
  if (loop.run == nullptr) return contenders;
  contenders.push_back({[loop] { loop.run(peak_iterations); }, loop.macs(peak_iterations)});
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
    : compute_(has_peak(kernel) ? static_cast<int>(contenders.size()) : -1),
      read_(has_peak(kernel) && memory != nullptr ? compute_ + 1 : -1),
      read_gbs_(limits.read_gbs),
      race_(with_limits(std::move(contenders), limits, kernel, memory), effort) {}

double LimitedRace::limit(double m, double bytes_per_weight) const {
  if (compute_ < 0) return 0;
  const double compute = samples(static_cast<size_t>(compute_)).best_rate();
  if (read_ < 0) return compute;
  const double read = std::max(read_gbs_, samples(static_cast<size_t>(read_)).best_rate());
  return std::min(compute, m * read / bytes_per_weight);
}

}  // namespace tw::measure
