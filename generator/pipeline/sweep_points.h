// What a sweep tries: the tiles, panels, techniques and knobs of a family on an ISA, as entries of
// a spec.
#pragma once

#include <string>
#include <vector>

#include "model/variant.h"
#include "spec/isa_reader.h"

namespace tw {

/// Of which kernels.
struct SweepAim {
  Family family;
  const Isa* isa = nullptr;
  int block = 0;  ///< values of k that share a weight scale, of families that have blocks
  ElementType scales = ElementType::f16;
  std::string core;  ///< empty: the ISA's default
};

struct SweepPoint {
  Technique technique = Technique::dot;
  Panels panels;
  Tile tile;
  Knobs knobs;
  const Format* rows_of = nullptr;  ///< as Variant has it
};

/// Tiles of up to 16 rows and 8 of the narrowest panels (accumulator tiles: 4), whose accumulators
/// leave a vector register at least, on panels of all widths that they span; the LHS in the
/// narrowest panels or in the tile's own; k unrolled by two lengths of which one is the usual;
/// 1, 2 or 4 sets of accumulators. No prefetches: a core model does not see what they are for.
/// Throws std::runtime_error where the ISA has no technique for the family.
std::vector<SweepPoint> sweep_points(const SweepAim& aim);

/// What makes a kernel of a spec again. In this ISA's assembly.
SweepPoint point_of(const Variant& variant);

/// A spec of these entries begins so ...
std::string spec_head(const Family& family);
/// ... and goes on with a line each.
std::string entry_text(const SweepAim& aim, const SweepPoint& point);

/// As a spec with this entry would be read. Throws SpecError.
Variant variant_of(const SweepAim& aim, const SweepPoint& point, IsaLibrary& isas);

}  // namespace tw
