// A job for the tuner's program: what to tune and for how long. One JSON object in a file.
#pragma once

#include <string>
#include <vector>

#include "tuner/choose.h"

namespace tw::tuner {

/// A weight matrix of a workload and how many layers have such a one.
struct JobMatmul {
  std::string name;
  Wanted wanted;
  double count = 1;
};

struct Job {
  std::vector<JobMatmul> matmuls;
  double budget = 60;       ///< seconds; 0: nothing is measured; negative: until separated
  bool exhaustive = false;  ///< all combinations, not the neighborhood of the best ones
  bool hot = false;         ///< measure with weights in the caches, too
  int cpu = -1;             ///< core to pin to; -1: the last one that is allowed
  double patience = 60;     ///< seconds that one multiplication may take: after that it hangs
  std::vector<Record> known;
  std::vector<Record> shipped;  ///< below the known ones: choices rest on them, measuring does not
};

std::string to_text(const Job& job);
/// Throws std::runtime_error that names the member.
Job job_from_text(const std::string& text);

}  // namespace tw::tuner
