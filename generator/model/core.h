// What a core costs: issue classes of instruction rows -> latency and ports.
// Read from templates/core/*.yaml by spec/core_reader.
#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace tw {

/// Any one of `ports`, for `cycles` cycles.
struct PortUse {
  std::vector<int> ports;  ///< indices into CoreModel::ports
  int cycles = 1;
};

struct IssueClass {
  int latency = 1;
  int accumulate = 0;         ///< latency from the operand that the result is tied to; 0: `latency`
  int first_result = 0;       ///< latency of the first of several results; 0: `latency`
  int micro_ops = 1;          ///< dispatch slots
  bool first = false;         ///< in-order cores: can only be the first of its cycle
  bool late = false;          ///< in-order cores: may write after what was issued later
  std::vector<PortUse> uses;  ///< empty: costs dispatch slots only
};

/// x86 processors whose cores are like a core. Families are told apart by number; what else differs
/// is told by features, since hypervisors make up model numbers.
struct Cpus {
  std::string maker;  ///< "AMD" or "Intel"; empty: none
  int family = 0;
  std::vector<std::string> features;  ///< that they must have, by the runtime's names
};

/// Beside some work a core's clock is lower than `CoreModel::ghz`.
struct SlowClock {
  double ghz = 0;                    ///< 0: it never is
  int vector_bytes = 0;              ///< of the vectors that are multiplied and loaded
  double multiplies = 0, loads = 0;  ///< at least so many a cycle, and so many loads for each
  std::vector<std::string> classes;  ///< or any instruction of these
};

struct CoreModel {
  std::string name;
  Cpus cpus;
  int64_t l2_bytes = 0;  ///< where a machine does not say; 0: unknown
  /// How far ahead a kernel that waits for its weights asks for them, bytes; 0: not at all.
  int64_t stream_prefetch = 0;
  int row_panels = 1;  ///< that a kernel of one row best reads at the same time
  int width = 4;       ///< micro-operations dispatched per cycle
  bool in_order = false;
  /// How wide the ports for vectors are: `uses` are for such vectors, wider ones take a multiple.
  /// 0: as wide as any vector.
  int vector_bytes = 0;
  std::vector<std::string> ports;
  /// Out of order: micro-operations that can be under way at once, and how many (`cycles`) of those
  /// for certain ports can wait for their arguments. 0: not known, as if there were no limit.
  int window = 0;
  PortUse queue;
  std::unordered_map<std::string, IssueClass> classes;
  double ghz = 0;  ///< typical clock, 0: unknown
  SlowClock slow_clock;
};

}  // namespace tw
