// The registry: one row per kernel and packer, from which declaration, dispatch, tests, benchmarks
// and documentation follow. Rows: runtime/include/tilewright/registry.h.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "emit/packer.h"
#include "model/core.h"
#include "model/variant.h"

namespace tw {

struct KernelEntry {
  const Variant* variant = nullptr;
  std::string printer;  ///< "intrinsics" or "assembly"
  std::string name;
  std::string symbol;  ///< C function; rows of long blocks share one
  std::string spec;    ///< "specs/mine.yaml:9:5"
  std::string guard;   ///< preprocessor condition under which it is built; empty: always
  uint64_t content_hash = 0;
  int vector_registers = 0;         ///< most live at once
  double macs_per_instruction = 0;  ///< of its hot loop, control included; 0: not known
  double macs_per_cycle = 0;        ///< predicted for its core model; 0: not known
  double times = 1;  ///< so many times as many with that core's vectors, where they have no length
  std::string core;  ///< what it is scheduled for
  bool in_order = false;        ///< that core issues in order
  std::vector<double> rates;    ///< MACs per cycle on each of Registry::cores; empty: not known
  std::string spills = "none";  ///< compilers that spill in its hot loop, see Variant::spills
};

/// A packer has a row for each of its layouts.
struct PackerEntry {
  const PackerSource* source = nullptr;
  const Layout* layout = nullptr;  ///< one of the source's
  std::string guard;
  uint64_t content_hash = 0;
};

struct Registry {
  std::vector<CoreModel> cores;  ///< that machines are known to have
  std::vector<KernelEntry> kernels;
  std::vector<PackerEntry> packers;
};

/// All distinct layouts, in the order of first use.
std::vector<const Layout*> layouts_of(const Registry& registry);

/// Contents without the file's head.
std::string print_registry(const Registry& registry);  ///< registry.c
/// tilewright/generated.h; `kernel_header` is how it includes kernel.h.
std::string print_declarations(const Registry& registry, const std::string& kernel_header);
std::string print_kernel_table(const Registry& registry);  ///< KERNELS.md

}  // namespace tw
