#include "schedule/allocate.h"

#include <fmt/format.h>

#include "ir/text.h"
#include "schedule/color.h"
#include "schedule/insert.h"
#include "schedule/rows.h"
#include "schedule/spill.h"
#include "schedule/webs.h"

namespace tw {
namespace {

/// Where most webs of `file` live.
Fullest fullest(const Webs& webs, int file) {
  std::vector<const Intervals*> lives;
  for (size_t w = 0; w < webs.webs.size(); ++w) {
    if (webs.of[w] == static_cast<int>(w) && webs.webs[w].file == file) {
      lives.push_back(&webs.webs[w].live);
    }
  }
  return fullest(lives);
}

/// A copy from a register to itself.
bool is_idle_copy(const Program& program, const Op& op) {
  return op.row != nullptr && is_copy(*op.row) &&
         program.registers[static_cast<size_t>(op.args[0])] ==
             program.registers[static_cast<size_t>(op.results[0])];
}

void drop_idle_copies(const Program& program, Region& region) {
  std::erase_if(region.nodes, [&](const Node& node) {
    const auto* op = std::get_if<Op>(&node);
    return op != nullptr && is_idle_copy(program, *op);
  });
  for (Node& node : region.nodes) {
    for_each_region(node, [&](Region& inner) { drop_idle_copies(program, inner); });
  }
}

/// Takes out copies from a register to itself; their users use what was copied.
void drop_idle_copies(Program& program) {
  std::vector<std::pair<Value, Value>> dropped;
  for_each_op(program.body, [&](Op& op) {
    if (is_idle_copy(program, op)) dropped.emplace_back(op.results[0], op.args[0]);
  });
  // The last ones first: what they copied may be a copy itself.
  for (auto it = dropped.rbegin(); it != dropped.rend(); ++it) {
    replace_uses(program.body, it->first, it->second);
  }
  drop_idle_copies(program, program.body);
}

AllocationError error(const Program& program, Kind kind) {
  const Pressure p = pressure(program, kind);
  std::string message = sum(p, program.isa->name, std::string(name(kind)));
  if (p.most <= p.available) message += ", but not in the order that its register lists need";
  return {message, p};
}

/// Where registers run out.
struct Lack {
  Kind kind = Kind::vector;
  int position = 0;
};

/// Writes the registers of all webs down, unless some are lacking.
std::optional<Lack> color_all(Program& program, const Webs& webs) {
  const Isa& isa = *program.isa;
  std::vector<int> registers(program.values.size(), -1);
  for (int file = 0; file < static_cast<int>(isa.files.size()); ++file) {
    const Kind kind = isa.files[static_cast<size_t>(file)].kind;
    const auto [where, most] = fullest(webs, file);
    if (most == 0) continue;
    if (most > isa.files[static_cast<size_t>(file)].count()) return Lack{kind, where};
    const Coloring colors = color(webs, isa, file);
    if (colors.failed >= 0) {
      return Lack{kind, webs.webs[static_cast<size_t>(colors.failed)].live.front().begin};
    }
    for (size_t v = 0; v < registers.size(); ++v) {
      const auto web = static_cast<size_t>(webs.of[v]);
      if (webs.webs[web].file == file) registers[v] = colors.registers[web];
    }
  }
  program.registers = std::move(registers);
  return std::nullopt;
}

}  // namespace

std::optional<AllocationError> try_allocate(Program& program) try {
  if (const Pressure p = vector_pressure(program); p.most > p.available) {
    return error(program, Kind::vector);
  }
  for_each_loop(program.body, [&](Loop& loop) {
    loop.counter = program.add_value({Kind::scalar, 8}, loop.label + "_left");
  });
  for (;;) {
    const Webs webs = gather_webs(program);
    const std::optional<Lack> lack = color_all(program, webs);
    if (!lack) break;
    const bool spilled =
        lack->kind == Kind::scalar && spill_scalar(program, webs.live, lack->position);
    if (!spilled) return error(program, lack->kind);
  }
  drop_idle_copies(program);
  return std::nullopt;
} catch (const ScatteredOperands& scattered) {
  return AllocationError(scattered.what(), vector_pressure(program));
}

void allocate(Program& program) {
  if (const std::optional<AllocationError> failed = try_allocate(program)) throw *failed;
}

}  // namespace tw
