// A weight matrix and what it meets: what is to be chosen for.
#pragma once

#include <string>
#include <vector>

#include "tuner/record.h"

namespace tw::tuner {

/// How often a matrix meets a number of rows.
struct Calls {
  size_t m = 1;
  double calls = 1;
};

struct Wanted {
  std::string family;
  size_t n = 0, k = 0, block = 0;
  std::string scales;  ///< of blocks: "f16" ...; "": none
  std::vector<Calls> mix;
  Regime regime = Regime::streamed;
  size_t threads = 1;
};

/// The matrix for tw_plan_create: without mix and settings. Points into `wanted`.
tw_matmul matmul_of(const Wanted& wanted);

/// The problem is of such weights: family, block and scales; rows are another matter.
bool is_of_weights(const Problem& problem, const Wanted& wanted);
/// The record is of this matrix, regime and number of threads.
bool is_of_matrix(const Record& record, const Wanted& wanted);

/// TW_SCALES_UNSET for "".
tw_scales scales_from_name(const std::string& name);

}  // namespace tw::tuner
