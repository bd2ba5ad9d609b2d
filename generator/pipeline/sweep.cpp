#include "pipeline/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "emit/explain.h"
#include "pipeline/kernel_names.h"
#include "pipeline/pipeline.h"

namespace tw {
namespace {

constexpr double kDigits = 1e5;  // of a cycle for a multiply-accumulate: closer ones are equal

/// Throws SpecError for a tile that does not fit.
Swept compiled(const SweepPoint& point, const Variant& variant, const CoreModel& core) {
  const Compiled program = compile(variant, core);
  const Explanation cost = explain(*instructions(program), core, block_trips(variant));
  Swept swept;
  swept.point = point;
  swept.kernel = assembly_name(variant);
  swept.registers = program.pressure.most;
  const int64_t longer = std::max(core.vector_bytes, 16) / 16;
  swept.rows = variant.tile.m.at({longer, longer});
  swept.macs_per_instruction = cost.macs_per_instruction * cost.times;
  swept.macs_per_cycle = cost.macs_per_cycle * cost.times;
  return swept;
}

/// What tells a tile from others, whatever its knobs.
auto tile_key(const SweepPoint& p) {
  return std::make_tuple(p.technique, p.panels.style, p.panels.kr, to_string(p.panels.rhs),
                         to_string(p.tile.m), to_string(p.tile.n));
}

}  // namespace

double cycles_per_mac(const Swept& swept, int64_t m) {
  const int64_t tiles = (m + swept.rows - 1) / swept.rows;
  const double done = static_cast<double>(tiles * swept.rows) / static_cast<double>(m);
  return done / swept.macs_per_cycle;
}

Sweep sweep(const SweepAim& aim, const std::vector<SweepPoint>& points, const CoreModel& core,
            IsaLibrary& isas, const std::function<void(double)>& progress) {
  if (!aim.isa->can_print_assembly) {
    throw std::runtime_error(
        fmt::format("{} has no assembly: a compiler chooses its instructions, and no core model "
                    "orders its tiles",
                    aim.isa->name));
  }
  Sweep all;
  std::set<std::string> seen;
  for (const SweepPoint& point : points) {
    progress(static_cast<double>(all.tried) / static_cast<double>(points.size()));
    ++all.tried;
    try {
      const Variant variant = variant_of(aim, point, isas);
      if (!seen.insert(variant.name()).second) {
        --all.tried;
        continue;
      }
      all.fit.push_back(compiled(point, variant, core));
    } catch (const SpecError& error) {
      const std::string at = to_string(error.where) + ": ";
      ++all.refused[reason_of(std::string(error.what()).substr(at.size()))];
    }
  }
  return all;
}

std::vector<const Swept*> best_tiles(const Sweep& sweep, int64_t m,
                                     const std::set<std::string>& also) {
  std::vector<const Swept*> best;
  for (const Swept& swept : sweep.fit) best.push_back(&swept);
  // Where a port is busy all the time many tiles are equal; fewer loads and less code then.
  const auto cost = [m](const Swept* s) {
    return std::make_pair(std::llround(kDigits * cycles_per_mac(*s, m)), -s->macs_per_instruction);
  };
  std::stable_sort(best.begin(), best.end(),
                   [&](const Swept* a, const Swept* b) { return cost(a) < cost(b); });
  std::set<decltype(tile_key(SweepPoint{}))> seen;
  std::erase_if(best, [&](const Swept* s) {
    return !seen.insert(tile_key(s->point)).second && also.count(s->kernel) == 0;
  });
  return best;
}

std::string reason_of(const std::string& refusal) {
  std::string reason;
  std::istringstream words(refusal.substr(0, std::min(refusal.find(" ("), refusal.find(';'))));
  for (std::string word; words >> word;) {
    const bool is_number = std::isdigit(static_cast<unsigned char>(word[0])) != 0;
    reason += (reason.empty() ? "" : " ") + (is_number ? "N" : word);
  }
  return reason;
}

}  // namespace tw
