// The search for one weight matrix, inside a child process: candidates to records.
#pragma once

#include <functional>
#include <map>
#include <set>
#include <string>

#include "measure/team.h"
#include "tilewright/tilewright.hpp"
#include "tuner/job.h"
#include "tuner/program/watched.h"

namespace tw::tuner {

struct SearchInput {
  tw_device device = tilewright::sized<tw_device>();
  Record origin;  ///< tool, device and core, for every record
  JobMatmul matmul;
  double seconds = 0;  ///< negative: until separated
  bool exhaustive = false;
  size_t cache_bytes = 0;  ///< last level
  /// By instruction: 1e9 multiply-adds a second. The origin has what memory allows.
  std::map<std::string, double> peaks;
  measure::Team* team = nullptr;  ///< threads, if there are several
  std::set<size_t> known;         ///< numbers of rows that need no measuring
  std::set<std::string> banned;   ///< identities of configurations that crashed
};

using Emit = std::function<void(std::string)>;

/// Lines: {"event":"entrant","number":N,"record":LINE}, the record that to emit if N crashes,
/// before N runs; records; {"event":"progress","done":0.5,"text":...}.
void search(const SearchInput& input, Watch& watch, const Emit& emit);

/// Two configurations of each number of rows against each other, nothing else: the records' ratio
/// is of `second` to the baseline `first`.
struct Pair {
  size_t m = 0;
  Configuration first, second;
};
void confirm(const SearchInput& input, const std::vector<Pair>& pairs, Watch& watch,
             const Emit& emit);

}  // namespace tw::tuner
