#include "pipeline/pipeline.h"

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <vector>

#include "lower/lower.h"
#include "schedule/allocate.h"
#include "schedule/cost.h"
#include "schedule/order.h"
#include "schedule/schedule.h"
#include "schedule/select.h"
#include "spec/yaml_reader.h"

namespace tw {
namespace {

/// Vector registers are what a tile is limited by; an ISA without them (portable C) is not.
bool fits(const Pressure& pressure) {
  return pressure.available == 0 || pressure.most <= pressure.available;
}

/// The stages before instructions.
Compiled lower_and_order(const Variant& variant, std::optional<int64_t> totals_in_registers) {
  Compiled stages;
  stages.variant = &variant;
  stages.lowered = lower(variant, totals_in_registers);
  stages.ordered = clone(stages.lowered);
  order(stages.ordered);
  stages.pressure = vector_pressure(stages.ordered);
  return stages;
}

/// With as many of the blocks' totals in registers as these hold; with all, if nothing fits.
Compiled lower_and_order(const Variant& variant) {
  Compiled all = lower_and_order(variant, std::nullopt);
  if (fits(all.pressure) || movable_totals(variant) == 0) return all;
  for (int64_t kept = movable_totals(variant); kept >= 0;) {
    Compiled some = lower_and_order(variant, kept);
    if (fits(some.pressure)) return some;
    kept -= some.pressure.most - some.pressure.available;
  }
  return all;
}

/// Would `variant` with that tile be legal and fit?
bool would_fit(Variant variant, const Tile& tile) {
  variant.tile = tile;
  try {
    return fits(lower_and_order(variant).pressure);
  } catch (const std::invalid_argument&) {
    return false;
  }
}

Length with_parts(Length like, int64_t parts) {
  if (like.svl != 0) return Length(0, 0, parts);
  return like.is_fixed() ? Length(parts) : Length(0, parts);
}

std::string text(const Tile& tile) {
  return fmt::format("{}x{}", to_string(tile.m), to_string(tile.n));
}

int64_t parts_of(Length length) {
  return length.fixed + length.vl + length.svl;
}

/// The largest tiles that fit with fewer rows, and with fewer columns.
std::vector<std::string> fitting_tiles(const Variant& variant) {
  std::vector<std::string> found;
  for (const bool by_rows : {true, false}) {
    Tile tile = variant.tile;
    Length& side = by_rows ? tile.m : tile.n;
    int64_t parts = parts_of(side) - 1;
    for (; parts >= 1; --parts) {
      side = with_parts(side, parts);
      if (would_fit(variant, tile)) break;
    }
    if (parts >= 1) found.push_back(text(tile));
  }
  return found;
}

[[noreturn]] void refuse(const Variant& variant, const Pressure& pressure) {
  const std::vector<std::string> tiles = fitting_tiles(variant);
  std::string hint = "no smaller tile fits";
  if (tiles.size() == 1) hint = tiles[0] + " fits";
  if (tiles.size() == 2) hint = fmt::format("{} and {} fit", tiles[0], tiles[1]);
  throw SpecError(variant.tile_where, fmt::format("tile {} {}; {}", text(variant.tile),
                                                  sum(pressure, variant.isa->name), hint));
}

/// The stages that lead to assembly.
void assemble(Compiled& compiled, const CoreModel& core) {
  const Variant& variant = *compiled.variant;
  try {
    Scheduled stages = schedule(compiled.ordered, core, variant.knobs.paired_loads);
    compiled.selected = std::move(stages.selected);
    compiled.pipelined = std::move(stages.pipelined);
    compiled.allocated = std::move(stages.allocated);
  } catch (const AllocationError& error) {
    throw SpecError(variant.tile_where,
                    fmt::format("tile {} {}", text(variant.tile), error.what()));
  }
}

}  // namespace

const std::string& core_name(const Variant& variant) {
  return variant.knobs.core.empty() ? variant.isa->default_core : variant.knobs.core;
}

Compiled compile(const Variant& variant, const CoreModel& core) {
  if (const std::string lacking = missing_class(core, *variant.isa); !lacking.empty()) {
    throw std::runtime_error(
        fmt::format("core '{}' has no class '{}', which {} needs: it has no "
                    "model of such instructions",
                    core.name, lacking, variant.isa->name));
  }
  Compiled compiled;
  try {
    compiled = lower_and_order(variant);
  } catch (const std::invalid_argument& error) {
    throw SpecError(variant.tile_where, error.what());
  }
  if (!fits(compiled.pressure)) refuse(variant, compiled.pressure);
  if (!variant.isa->can_print_assembly) return compiled;

  if (variant.print_assembly) {
    assemble(compiled, core);
  } else {
    compiled.selected = clone(compiled.ordered);
    select(*compiled.selected, {.loads_per_row = variant.knobs.paired_loads ? 2 : 0});
  }
  return compiled;
}

const Program* instructions(const Compiled& compiled) {
  if (compiled.allocated) return &*compiled.allocated;
  return compiled.selected ? &*compiled.selected : nullptr;
}

}  // namespace tw
