// What the machine itself can do, measured in the same run as the kernels: every share that a
// report prints is a share of these.
#pragma once

#include <string>
#include <vector>

#include "measure/machine.h"
#include "tilewright/registry.h"

namespace tw::measure {

/// A compute limit: what one instruction (or pair of them) reaches alone.
struct PeakLimit {
  std::string instruction;
  double gmacs = 0;  ///< 1e9 multiply-accumulates a second
  double macs_per_cycle = 0;
  double loaded_gmacs = 0;  ///< with the loads that kernels have beside them; 0: not measured
};

struct Limits {
  double ghz = 0;                ///< core clock: a chain of dependent adds, one cycle each
  std::vector<PeakLimit> peaks;  ///< the best first; empty: no loop for this machine
  double read_gbs = 0;           ///< streaming read, 1e9 bytes a second, best of several loops
  std::string read_loop;         ///< which loop that was
  long (*read)(const std::byte* data, size_t bytes) = nullptr;
  double memcpy_gbs = 0;       ///< memcpy, bytes copied (as many are read as written)
  double stream_copy_gbs = 0;  ///< copy with non-temporal stores; 0: no loop for this machine
};

/// Core clock in GHz, from one chain of `adds` dependent adds.
double clock_ghz(long adds);

/// A loop of independent multiply-accumulate instructions: as fast as this core can.
struct PeakLoop {
  std::string instruction;
  tw_features feature = 0;          ///< kernels that need this have that limit
  double macs_per_step = 0;         ///< of one instruction
  int instructions = 0;             ///< of one iteration
  double least_macs_per_cycle = 0;  ///< below this the measurement is wrong, or disturbed
  void (*run)(long iterations) = nullptr;
  size_t lhs_bits = 8;  ///< of the activations that it multiplies
  /// The same with loads from L1: beside every second of vectors, of tiles as many as products.
  /// Cores may lower their clock for that. Null: there is none.
  void (*run_loaded)(long iterations) = nullptr;
  [[nodiscard]] double macs(long iterations) const {
    return static_cast<double>(iterations) * instructions * macs_per_step;
  }
};
/// Those that this machine can run, the best first.
std::vector<PeakLoop> peak_loops();
/// x86: those of Intel's tiles, which this machine need not have.
std::vector<PeakLoop> tile_loops();
/// The one that limits a kernel: the first for its activations whose feature it needs. None: null
/// `run`.
PeakLoop peak_loop_of(const tw_kernel& kernel);

/// One read of `bytes` bytes; the result only keeps the compiler honest.
struct ReadLoop {
  const char* name;
  long (*run)(const std::byte* data, size_t bytes);
};
/// Those that this machine can run; ends with a null name.
const ReadLoop* read_loops();

using CopyLoop = void (*)(std::byte* to, const std::byte* from, size_t bytes);
/// Copy with non-temporal stores (64-byte aligned `to`), null when there is none.
CopyLoop stream_copy();

/// Measures all of them. `memory` is at least eight times the last-level cache. Fails (see fail())
/// when the compute limit contradicts the clock.
Limits measure_limits(const Memory& memory, bool quick);

/// What was found, for people.
std::string to_text(const Limits& limits);

}  // namespace tw::measure
