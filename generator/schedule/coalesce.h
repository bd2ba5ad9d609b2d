// Values that share a register, or a variable, because they never live at the same time.
#pragma once

#include <vector>

#include "schedule/liveness.h"

namespace tw {

/// Sets of values, at first of one each. A set's number is one of its values.
class Coalescing {
 public:
  explicit Coalescing(std::vector<Intervals> live);

  [[nodiscard]] int set_of(Value v) const;
  /// Where some value of a set lives.
  [[nodiscard]] const Intervals& live(int set) const { return live_[static_cast<size_t>(set)]; }
  /// Makes one set of the two, with the number of a's; false if they live at the same time.
  bool join(Value a, Value b);

 private:
  std::vector<Intervals> live_;
  mutable std::vector<int> parent_;
};

}  // namespace tw
