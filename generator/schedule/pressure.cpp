#include "schedule/pressure.h"

#include <fmt/format.h>

#include "schedule/liveness.h"

namespace tw {

Pressure pressure(const Program& program, Kind kind) {
  const Liveness live = liveness(program);
  std::vector<const Intervals*> lives;
  for (size_t v = 0; v < program.values.size(); ++v) {
    if (program.values[v].type.kind == kind) lives.push_back(&live.of[v]);
  }
  const auto [where, most] = fullest(lives);
  Pressure found;
  found.most = most;
  for (size_t v = 0; v < program.values.size(); ++v) {
    const ValueInfo& value = program.values[v];
    if (value.type.kind != kind || !covers(live.of[v], where)) continue;
    switch (value.role) {
      case Role::accumulator:
        ++found.accumulators;
        break;
      case Role::operand:
        ++found.operands;
        break;
      case Role::mask:
        ++found.masks;
        break;
      default:
        ++found.other;
    }
  }
  const RegisterFile* file = program.isa->file_of(kind);
  found.available = file == nullptr ? 0 : file->count();
  return found;
}

Pressure vector_pressure(const Program& program) {
  return pressure(program, Kind::vector);
}

std::string sum(const Pressure& pressure, const std::string& isa, const std::string& kind) {
  std::string parts;
  auto part = [&](int count, const char* one, const char* many) {
    if (count == 0) return;
    parts += fmt::format("{}{} {}", parts.empty() ? "" : " + ", count, count == 1 ? one : many);
  };
  part(pressure.accumulators, "accumulator", "accumulators");
  part(pressure.operands, "operand", "operands");
  part(pressure.masks, "mask", "masks");
  part(pressure.other, "other", "others");
  return fmt::format("needs {} {} registers on {} ({}), {} exist", pressure.most, kind, isa, parts,
                     pressure.available);
}

}  // namespace tw
