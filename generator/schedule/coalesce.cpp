#include "schedule/coalesce.h"

#include <numeric>
#include <utility>

namespace tw {

Coalescing::Coalescing(std::vector<Intervals> live)
    : live_(std::move(live)), parent_(live_.size()) {
  std::iota(parent_.begin(), parent_.end(), 0);
}

int Coalescing::set_of(Value v) const {
  int set = v;
  while (parent_[static_cast<size_t>(set)] != set) set = parent_[static_cast<size_t>(set)];
  return parent_[static_cast<size_t>(v)] = set;
}

bool Coalescing::join(Value a, Value b) {
  const int into = set_of(a);
  const int from = set_of(b);
  if (into == from) return true;
  if (overlap(live(into), live(from))) return false;
  live_[static_cast<size_t>(into)] = merge(live(into), live(from));
  parent_[static_cast<size_t>(from)] = into;
  return true;
}

}  // namespace tw
