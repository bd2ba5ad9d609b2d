// A record: one measurement of one configuration on one kind of core, one line of JSON.
// docs/tuning.md has the members of a line.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tilewright/tilewright.h"

namespace tw::tuner {

/// A weight matrix and the rows it meets.
struct Problem {
  std::string family;
  size_t n = 0, k = 0;
  size_t block = 0;    ///< values of k that share a scale; 0: none
  std::string scales;  ///< "f32", "f16", "bf16"; "": no blocks
  size_t m = 0;
};

/// What ran. Everything but the names is what the plan would otherwise choose.
struct Configuration {
  std::string kernel;  ///< of all whole tiles; rows left over take what the plan has for them
  uint64_t hash = 0;   ///< of the kernel's printed source: tw_kernel.content_hash
  std::string isa;
  uint64_t layout = 0;              ///< id of the packed weights' layout
  std::string compiler;             ///< "gcc 12.2.0"; "": assembly
  size_t n_block = 0, m_block = 0;  ///< columns and rows of a slice, as in effect
  std::string order;                ///< "columns" or "rows": which a sequence of slices walks first
  size_t prefetch = 0;              ///< bytes; 0: none
  std::string decodes;              ///< "yes", "no"; "": the plan had no decoder, or no scratch
};

/// The kind of core: what two machines must share for a record of one to be exact for the other.
struct Core {
  std::string name;                            ///< label: "Cortex-X3", "AMD 26.2"
  uint64_t midr = 0;                           ///< AArch64; else 0
  size_t family = 0, model = 0, stepping = 0;  ///< x86; else 0
  size_t mhz = 0, capacity = 0;
  size_t l1 = 0, l2 = 0, l3 = 0;     ///< bytes that a core of the cluster sees
  std::string features;              ///< names, as tw_feature_names writes them
  size_t vector = 0, streaming = 0;  ///< bytes
};

enum class Regime { streamed, hot };
enum class Outcome { ok, wrong, crash, timeout };

/// Times are of one multiplication, packing of its activations included, in nanoseconds.
struct Times {
  double median = 0, p20 = 0, least = 0;
  std::vector<double> samples;  ///< at most 64, in the order of measuring
};

/// Time of the baseline / time of this, from rounds that ran both: above 1 is faster.
struct Ratio {
  double median = 0, low = 0, high = 0;  ///< 95 % interval of the median, from the signs of rounds
  size_t rounds = 0;
};

struct Record {
  std::string time;    ///< "2026-11-22T04:05:06Z"
  std::string tool;    ///< "tilewright 0.1.0"
  std::string device;  ///< label: the machine's name
  bool virtual_machine = false;
  Core core;
  Problem problem;
  Regime regime = Regime::streamed;
  size_t threads = 1;
  size_t measured_n = 0;  ///< columns that ran, at most problem.n; times are scaled to all of them
  Configuration ran;
  Outcome outcome = Outcome::ok;
  std::string detail;  ///< of an outcome that is not ok: "SIGILL", the wrong value
  Times ns;
  Ratio ratio;           ///< to the baseline; rounds 0: this is the baseline
  std::string baseline;  ///< identity(Configuration) of what ratio compares with
  double ghz = 0;        ///< effective clock by a chain of dependent adds; 0: unknown
  /// What this core can do at most, measured in the same run; 0: unknown.
  double peak_gmacs = 0;  ///< 1e9 multiply-adds a second of the kernel's kind of instruction
  double read_gbs = 0;    ///< 1e9 bytes a second from memory
  size_t rhs_bytes = 0;   ///< of all packed weights
  size_t dropped = 0;     ///< rounds left out: the clock moved, or the thread was interrupted
  bool good = true;       ///< false: more than 30 % of the rounds were dropped
};

/// The same for equal configurations and only for them: 16 hex digits.
std::string identity(const Configuration& configuration);
/// The same for cores that records of one another are exact for: 16 hex digits.
std::string identity(const Core& core);

inline constexpr size_t kLongestLine = 4096;  ///< bytes, without the newline

/// One line without its newline, at most kLongestLine, ending in its own checksum. Samples are
/// thinned where they do not fit, labels (device, core.name, detail) cut and cleaned. Throws
/// RecordError for what from_line would refuse: a NaN, a negative time.
std::string to_line(const Record& record);

/// What is wrong with a line.
struct RecordError {
  std::string what;
};
/// Throws RecordError. Members that it does not know are legal (a newer tool's), missing ones not.
Record from_line(std::string_view line);

}  // namespace tw::tuner
