// What a core costs: issue classes of instruction rows -> latency and ports.
// Read from templates/core/*.yaml by spec/core_reader.
#pragma once

#include <map>
#include <string>
#include <vector>

namespace tw {

/// `count` micro-operations, each of which takes one cycle of any one of `ports`.
struct PortUse {
  std::vector<int> ports;  ///< indices into CoreModel::ports
  int count = 1;
};

struct IssueClass {
  int latency = 1;
  int accumulate = 0;         ///< latency from the operand that the result is tied to; 0: `latency`
  std::vector<PortUse> uses;  ///< empty: costs a dispatch slot only
};

struct CoreModel {
  std::string name;
  int width = 4;  ///< instructions dispatched per cycle
  bool in_order = false;
  std::vector<std::string> ports;
  std::map<std::string, IssueClass> classes;
  double ghz = 0;  ///< typical clock, 0: unknown
};

}  // namespace tw
