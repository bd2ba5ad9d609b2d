#include "measure/machine_limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace tw::measure {
namespace {

struct Peak {
  double ghz = 0, gmacs = 0, macs_per_cycle = 0, loaded_gmacs = 0;
};

/// Clock and peak, alternating so that both see the same frequency. The ratio is the median of the
/// pairs: a disturbed pair cannot pass for a fast machine, nor for a slow one.
Peak measure_peak(const PeakLoop& loop, int rounds) {
  constexpr double seconds_per_round = 0.004;
  std::vector<double> clocks, rates, ratios, loaded = {0};
  clock_ghz(1 << 22);  // wake the core up
  const long iterations =
      std::max(1L, static_cast<long>(seconds_per_round * 2e9 / loop.instructions));
  const auto rate = [&](void (*run)(long)) {
    const double start = now();
    run(iterations);
    return loop.macs(iterations) / (now() - start) / 1e9;
  };
  for (int i = 0; i < rounds; ++i) {
    const double before = clock_ghz(1 << 22);
    rates.push_back(rate(loop.run));
    const double clock = std::max(before, clock_ghz(1 << 22));
    clocks.push_back(clock);
    ratios.push_back(rates.back() / clock);
    if (loop.run_loaded != nullptr) loaded.push_back(rate(loop.run_loaded));
  }
  const auto most = [](const std::vector<double>& of) {
    return *std::max_element(of.begin(), of.end());
  };
  return {most(clocks), most(rates), median(ratios), most(loaded)};
}

Peak measure_checked_peak(const PeakLoop& loop, int rounds) {
  Peak peak;
  for (int attempt = 0; attempt < 5; ++attempt) {
    peak = measure_peak(loop, rounds);
    if (peak.macs_per_cycle >= loop.least_macs_per_cycle) return peak;
  }
  fail(
      fmt::format("the limit loop of {} reached {:.1f} MACs per cycle against the chain of "
                  "dependent adds ({:.2f} GHz), at least {:.0f} were expected: the machine is "
                  "disturbed, or the clock is wrong; no share can be stated",
                  loop.instruction, peak.macs_per_cycle, peak.ghz, loop.least_macs_per_cycle));
}

template <typename F>
double best_gbs(size_t bytes, int rounds, F&& f) {
  f();
  std::vector<double> seconds;
  for (int i = 0; i < rounds; ++i) {
    const double start = now();
    f();
    seconds.push_back(now() - start);
  }
  return static_cast<double>(bytes) / best(seconds) / 1e9;
}

}  // namespace

PeakLoop peak_loop_of(const tw_kernel& kernel) {
  for (const PeakLoop& loop : peak_loops()) {
    const bool same = loop.lhs_bits == kernel.lhs->data_bits;
    if (same && (kernel.features & loop.feature) != 0) return loop;
  }
  return {};
}

Limits measure_limits(const Memory& memory, bool quick) {
  Limits limits;
  const int rounds = quick ? 5 : 15;
  for (const PeakLoop& loop : peak_loops()) {
    const Peak peak = measure_checked_peak(loop, 2 * rounds + 1);
    limits.ghz = std::max(limits.ghz, peak.ghz);
    limits.peaks.push_back({loop.instruction, peak.gmacs, peak.macs_per_cycle, peak.loaded_gmacs});
  }
  if (limits.peaks.empty()) limits.ghz = clock_ghz(1 << 26);

  volatile long sink = 0;
  for (const ReadLoop* read = read_loops(); read->name != nullptr; ++read) {
    const double gbs = best_gbs(memory.size(), quick ? 3 : 6,
                                [&] { sink = read->run(memory.data(), memory.size()); });
    if (gbs > limits.read_gbs) {
      limits.read_gbs = gbs;
      limits.read_loop = read->name;
      limits.read = read->run;
    }
  }
  (void)sink;

  const size_t half = memory.size() / 2;
  std::byte* to = memory.data();
  const std::byte* from = memory.data() + half;
  limits.memcpy_gbs = best_gbs(half, rounds / 2 + 1, [&] { std::memcpy(to, from, half); });
  if (const CopyLoop copy = stream_copy()) {
    limits.stream_copy_gbs = best_gbs(half, rounds / 2 + 1, [&] { copy(to, from, half); });
  }
  return limits;
}

std::string to_text(const Limits& limits) {
  std::string text =
      fmt::format("  core clock        {:8.2f} GHz     chain of dependent adds\n", limits.ghz);
  for (const PeakLimit& peak : limits.peaks) {
    text += fmt::format("  compute           {:8.1f} GMAC/s  {}, {:.1f} MACs per cycle", peak.gmacs,
                        peak.instruction, peak.macs_per_cycle);
    if (peak.loaded_gmacs > 0) text += fmt::format("; with loads {:.1f}", peak.loaded_gmacs);
    text += '\n';
  }
  if (limits.peaks.empty()) {
    text += "  compute                  -         no limit loop for this machine's ISA\n";
  }
  text +=
      fmt::format("  streaming read    {:8.1f} GB/s    {}\n", limits.read_gbs, limits.read_loop);
  text += fmt::format("  memcpy            {:8.1f} GB/s    bytes copied\n", limits.memcpy_gbs);
  if (limits.stream_copy_gbs > 0) {
    text +=
        fmt::format("  non-temporal copy {:8.1f} GB/s    bytes copied\n", limits.stream_copy_gbs);
  }
  return text;
}

}  // namespace tw::measure
