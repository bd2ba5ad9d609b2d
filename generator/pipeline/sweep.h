// Tiles compiled and ordered by a core model.
#pragma once

#include <array>
#include <functional>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/core.h"
#include "pipeline/sweep_points.h"
#include "spec/isa_reader.h"

namespace tw {

/// Numbers of rows that a sweep orders by: decode, a checked draft, short and long prompts.
inline constexpr std::array<int64_t, 4> sweep_rows = {1, 4, 16, 128};

/// A tile that fits.
struct Swept {
  SweepPoint point;
  std::string kernel;  ///< registry row
  int registers = 0;   ///< vector registers
  int64_t rows = 0;    ///< of outputs, with the core's vectors
  double macs_per_instruction = 0, macs_per_cycle = 0;
};

/// The hot loop's cycles for a multiply-accumulate of m rows; rows left over cost a whole tile.
double cycles_per_mac(const Swept& swept, int64_t m);

struct Sweep {
  std::vector<Swept> fit;
  std::map<std::string, size_t> refused;  ///< why, how many
  size_t tried = 0;
};

/// `progress` gets the part that is done. Points that are one kernel are tried once. Throws
/// std::runtime_error where no model can order them.
Sweep sweep(const SweepAim& aim, const std::vector<SweepPoint>& points, const CoreModel& core,
            IsaLibrary& isas, const std::function<void(double)>& progress);

/// Of every tile on every panel width its best knobs, and the kernels `also`; those that are best
/// for m rows first.
std::vector<const Swept*> best_tiles(const Sweep& sweep, int64_t m,
                                     const std::set<std::string>& also = {});

/// A refusal without its numbers and what would be legal, so that those of one kind are equal.
std::string reason_of(const std::string& refusal);

}  // namespace tw
