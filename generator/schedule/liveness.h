// Where each value lives, as intervals of positions in program order; exact for structured code.
#pragma once

#include <functional>
#include <unordered_map>
#include <vector>

#include "ir/program.h"

namespace tw {

/// Positions [begin, end). An operation has two: an even one where it reads its arguments, the
/// next where it writes its results, so that an argument that dies can share the register of a
/// result (unless the row writes that result early).
struct Interval {
  int begin = 0;
  int end = 0;
};
using Intervals = std::vector<Interval>;  ///< ascending, not touching

bool overlap(const Intervals& a, const Intervals& b);
Intervals merge(const Intervals& a, const Intervals& b);
bool covers(const Intervals& intervals, int position);

/// The first position at which most of those live, and how many do.
struct Fullest {
  int position = 0;
  int most = 0;
};
Fullest fullest(const std::vector<const Intervals*>& all);

struct Liveness {
  std::vector<Intervals> of;                      ///< per value
  std::unordered_map<const void*, int> position;  ///< of Op, Loop (head) and If nodes: even
  struct Span {
    const Loop* loop = nullptr;
    int head = 0;  ///< even: reads inits and count; params live from head + 1
    int tail = 0;  ///< even: reads yields; results live from tail + 1
  };
  std::vector<Span> loops;  ///< outer before inner, in program order
  [[nodiscard]] bool in_hot_loop(int position) const;
};

/// Values never used live at their definition only. Loop::counter, when set, lives in its loop.
/// `in_place`, for C: per value the operation that stands where its result is used (which then does
/// not live), or null; loops compare with their counts in every iteration.
Liveness liveness(const Program& program, const std::vector<const Op*>& in_place = {});

/// Every value that `region` uses, in nested regions too (repeats possible).
void for_each_use(const Region& region, const std::function<void(Value)>& use);

}  // namespace tw
