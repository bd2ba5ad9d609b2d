// One call (or several slices) of a generated packer against the plain C++ reference.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "tilewright/registry.h"

namespace tw::test {

struct PackCase {
  size_t rows = 1, k = 1;
  size_t extra_stride = 0;  ///< bytes between a source row's end and the next one
  size_t misalign = 0;      ///< of source and packed memory
  bool unsigned_nibbles = false;
  bool with_bias = true;
  bool source_at_start = false;  ///< the source touches the guard page before it, not behind it
  std::vector<size_t> cuts;      ///< row indices where slices end; rounded up to whole panels
  uint32_t seed = 1;
};

std::string to_string(const PackCase& c);

/// Empty, or what went wrong: a fault, a clobbered register, the first byte that differs.
std::string check_packer(const tw_packer& packer, const PackCase& c);

/// What a packer must be able to do, as cases: every edge of rows and k, alone and together.
std::vector<PackCase> edge_cases(const tw_packer& packer);
std::vector<PackCase> random_cases(const tw_packer& packer, size_t count, uint32_t seed);

}  // namespace tw::test
