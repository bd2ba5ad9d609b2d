// What is known of some cells, for others: the rungs of choosing that need records.
#pragma once

#include <functional>
#include <map>
#include <string>
#include <vector>

#include "tuner/evidence.h"

namespace tw::tuner {

/// How near the records are that a choice rests on, the nearest first.
enum class Rung {
  exact,        ///< this shape on this kind of core
  same_core,    ///< other shapes on this kind of core
  same_type,    ///< cores of this type at other clocks or with other caches
  same_pipes,   ///< cores with as many pipes
  isa_default,  ///< any core
  fitted,       ///< other numbers of rows and other families, by a cost model fitted to them
  model         ///< no records: what the plan would do
};
const char* name(Rung rung);

struct KnownCell {
  Core core;
  std::string core_id;
  Problem problem;
  Regime regime = Regime::streamed;
  size_t threads = 1;
  CellEvidence evidence;
};

/// Of the records that `counts` says yes to; in an order that the records' order does not change.
std::vector<KnownCell> known_cells(const std::vector<Record>& records,
                                   const std::function<bool(const Record&)>& counts);

/// One of the groups of numbers of rows that behave alike: 1, 2-3, 4-7, 8-15, 16-63, from 64 on.
size_t bucket_of(size_t m);

/// From same_core to isa_default: the cell is on such a core as `core`, whose identity is core_id.
bool on_rung(const KnownCell& cell, Rung rung, const Core& core, const std::string& core_id);

/// Natural logarithm of each kernel's time relative to the best kernel's, mean over the cells that
/// have it; of every kernel its best configuration.
using Penalties = std::map<std::string, double>;
Penalties kernel_penalties(const std::vector<const KnownCell*>& cells);

/// What to run of `candidates` instead of `own`, the plan's kernel: the one with the least penalty,
/// if that is worth it. `own` itself where nothing is; "" where nothing is known of any of them.
std::string least_penalty(const Penalties& penalties, const std::vector<std::string>& candidates,
                          const std::string& own);

/// Of each kernel in a cell the configuration whose settings are most like the baseline's, which
/// are the plan's. Points into the cell.
std::map<std::string, const Evidence*> planned_settings(const CellEvidence& cell);

}  // namespace tw::tuner
