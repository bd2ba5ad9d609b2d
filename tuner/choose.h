// What to run, from records: a pure function of the records, the device and what is wanted.
// docs/tuning.md has the rules.
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

/// How near the records are that a choice rests on, the nearest first.
enum class Rung {
  exact,        ///< this shape on this kind of core
  same_core,    ///< other shapes on this kind of core
  same_type,    ///< cores of this type at other clocks or with other caches
  same_pipes,   ///< cores with as many pipes
  isa_default,  ///< any core
  model         ///< no records: what the plan would do
};
const char* name(Rung rung);

/// For one number of rows.
struct RowsChoice {
  size_t m = 0;
  double calls = 0;
  Rung rung = Rung::model;
  Configuration run;       ///< Rung::model: its kernel is the plan's, nothing is set
  double ns = 0;           ///< of one call, as measured or as predicted
  double baseline_ns = 0;  ///< likewise of what the plan would do
};

struct Choice {
  uint64_t layout = 0;  ///< 0: nothing runs
  std::vector<RowsChoice> rows;
  /// Calls times nanoseconds over all rows.
  [[nodiscard]] double total_ns() const;
  [[nodiscard]] double baseline_ns() const;
};

/// `core` is the kind of the device's core that will run it. Records of kernels that this program
/// does not have in just that form, and of kernels that crashed or computed wrong values on such a
/// core, do not count. Throws std::runtime_error when the plan itself is refused.
Choice choose(const std::vector<Record>& records, const tw_device& device, const Core& core,
              const Wanted& wanted);

/// For tw_matmul.settings; rows from 8 on stand for those nearest to them, fewer only for
/// themselves. Points into the choice.
std::vector<tw_setting> settings_of(const Choice& choice);

/// TW_SCALES_UNSET for "".
tw_scales scales_from_name(const std::string& name);

}  // namespace tw::tuner
