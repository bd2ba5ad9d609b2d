// Parts of `tilewright sweep`.
#pragma once

#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "command/commands.h"
#include "command/places.h"
#include "pipeline/sweep.h"
#include "tuner/job.h"

namespace tw {

/// The sweep's own folder and what lies in it.
struct SweepFolder {
  std::filesystem::path root;  ///< of all sweeps; the program that measures is built below it
  std::filesystem::path folder;
};

/// Kernels that ship are marked where they are named.
using Shipped = std::set<std::string>;

/// How many were tried, how many fit, and why the others do not.
std::string sweep_counts(const Sweep& sweep);
/// For every number of rows the tiles that the model likes best, at most `most` of them.
std::string sweep_table(const Sweep& sweep, const std::string& family, const Shipped& shipped,
                        size_t most);

/// What --measure measures: every number of rows by itself, with weights from memory and in the
/// caches, since another layout may win for each. Throws where nothing can be measured.
std::vector<tuner::JobMatmul> measured_shapes(const SweepOptions& options, const SweepAim& aim,
                                              const Places& places);

/// Compiles what is best and what ships, races them here on `shapes`, and prints who won.
void measure_sweep(const SweepOptions& options, const SweepAim& aim,
                   const std::vector<tuner::JobMatmul>& shapes, const Sweep& sweep,
                   const CoreModel& core, IsaLibrary& isas, const Places& places,
                   const SweepFolder& folder, const Shipped& shipped);

}  // namespace tw
