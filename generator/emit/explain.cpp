#include "emit/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

namespace tw {
namespace {

/// The multiply-accumulate in a row's meaning, null if there is none.
const MeansNode* multiply_of(const Row& row) {
  for (const MeansNode& node : row.means) {
    if (info(node.code).facts.work != Work::other) return &node;
  }
  return nullptr;
}

/// Cycles that `count` of the loop's multiply-accumulates take alone, without memory operands.
double peak_cycles(const Isa& isa, const CoreModel& core, const Row& row, int count) {
  const MeansNode& node = *multiply_of(row);
  const Row* alone = isa.row_for(node.code, node.bits, row.bytes);
  const std::vector<IssueClass> its = costs(isa, core, alone != nullptr ? *alone : row);
  return count * std::max(port_cycles(its), 1.0 / core.width);
}

/// What of its usual clock the core keeps in a loop of so many cycles.
double clock_share(const Isa& isa, const CoreModel& core, const std::map<const Row*, int>& counts,
                   double cycles) {
  const SlowClock& slow = core.slow_clock;
  if (slow.ghz == 0 || cycles <= 0 || isa.vector_bytes != Length{slow.vector_bytes}) return 1;
  double multiplies = 0, loads = 0;
  for (const auto& [row, count] : counts) {
    const auto slows = [&](const std::string& name) {
      return std::find(slow.classes.begin(), slow.classes.end(), name) != slow.classes.end();
    };
    if (std::any_of(row->issue_classes.begin(), row->issue_classes.end(), slows)) {
      return slow.ghz / core.ghz;
    }
    if (multiply_of(*row) != nullptr) multiplies += count;
    for (const MeansNode& node : row->means) {
      if (node.code == OpCode::load && row->bytes == Length{}) loads += count;
    }
  }
  return clock_share(core, multiplies / cycles, loads / cycles);
}

std::string mnemonic(const Row& row) {
  const std::string& line = row.assembly.front();
  if (line.starts_with('.')) return row.name;  // a number, for assemblers that do not know it
  return line.substr(0, line.find(' '));
}

/// Outputs of a core's vectors by those of vectors of 16 bytes: outer products grow in both
/// directions.
double times_longer(const Isa& isa, const CoreModel& core, bool has_outer) {
  if (isa.vector_bytes.is_fixed() || core.vector_bytes == 0) return 1;
  const double longer = core.vector_bytes / 16.0;
  return has_outer ? longer * longer : longer;
}

/// Counts each row as often as `times` iterations of the loop have it.
void count_rows(const Region& region, int64_t times, std::map<const Row*, int>& counts) {
  for (const Node& node : region.nodes) {
    const auto* op = std::get_if<Op>(&node);
    if (op != nullptr && op->row != nullptr) counts[op->row] += static_cast<int>(times);
  }
}

bool puts_row(const Row& row) {
  return std::any_of(row.means.begin(), row.means.end(),
                     [](const MeansNode& node) { return node.code == OpCode::tile_put; });
}

/// The loop that adds a block to what a tile's rows add up to, if one does.
const Loop* loop_over_rows(const Loop& around) {
  for (const Node& node : around.body.nodes) {
    const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node);
    if (loop == nullptr) continue;
    const auto puts = [](const Node& inner) {
      const auto* op = std::get_if<Op>(&inner);
      return op != nullptr && op->row != nullptr && puts_row(*op->row);
    };
    const std::vector<Node>& body = (*loop)->body.nodes;
    if (std::any_of(body.begin(), body.end(), puts)) return loop->get();
  }
  return nullptr;
}

/// As that core has them.
int64_t rows_of_tile(const Isa& isa, const CoreModel& core) {
  const int64_t segments = std::max(core.vector_bytes / 16, 1);
  return isa.tile_rows().at({segments, segments});
}

/// What a loop takes in so many iterations.
void add(const Bounds& own, double times, Bounds& all) {
  all.ports += times * own.ports;
  all.dispatch += times * own.dispatch;
  all.latency += times * own.latency;
  all.port_load.resize(own.port_load.size());
  for (size_t i = 0; i < own.port_load.size(); ++i) all.port_load[i] += times * own.port_load[i];
}

/// What stands around the loop is done beside other blocks: it takes ports and dispatch.
void add_around(Bounds own, int64_t count, Explanation& it) {
  own.latency = 0;
  add(own, static_cast<double>(count), it.bounds);
  it.cycles += static_cast<double>(count) * std::max(own.ports, own.dispatch);
}

}  // namespace

Explanation explain(const Program& program, const CoreModel& core, int64_t block_trips) {
  const Loop* loop = hottest_loop(program);
  if (loop == nullptr) throw std::runtime_error(program.name + " has no loop over k");
  Explanation it;
  it.kernel = program.name;
  it.isa = program.isa->name;
  it.core = core.name;
  const Loop* around = block_trips == 0 ? nullptr : loop_around(program, *loop);
  it.loop = around == nullptr ? loop->label : around->label;
  const int64_t trips = std::max<int64_t>(block_trips, 1);
  it.macs = loop->macs * trips;
  if (!program.isa->vector_bytes.is_fixed() && core.vector_bytes != 0) {
    it.vectors = fmt::format(", vectors of {} bits", 8 * core.vector_bytes);
  }
  std::map<const Row*, int> counts;
  count_rows(loop->body, trips, counts);
  if (around != nullptr) count_rows(around->body, 1, counts);
  const Loop* by_rows = loop_over_rows(around != nullptr ? *around : *loop);
  const int64_t rows = by_rows == nullptr ? 0 : rows_of_tile(*program.isa, core);
  if (by_rows != nullptr) count_rows(by_rows->body, rows, counts);
  std::map<std::string, int> mix;
  double peak = 0;
  for (const auto& [row, count] : counts) {
    mix[mnemonic(*row)] += count;
    it.instructions += count * static_cast<int>(row->assembly.size());
    if (multiply_of(*row) != nullptr) peak += peak_cycles(*program.isa, core, *row, count);
  }
  it.mix.assign(mix.begin(), mix.end());
  std::sort(it.mix.begin(), it.mix.end(), [](const auto& a, const auto& b) {
    return a.second != b.second ? a.second > b.second : a.first < b.first;
  });
  const int loops = static_cast<int>(trips + rows) + (around != nullptr ? 1 : 0);
  it.instructions += loops * static_cast<int>(program.isa->rules.loop_end.size());
  it.macs_per_instruction = static_cast<double>(it.macs) / it.instructions;
  const bool has_outer = std::any_of(counts.begin(), counts.end(), [](const auto& entry) {
    const MeansNode* node = multiply_of(*entry.first);
    return node != nullptr && info(node->code).facts.work == Work::outer_products;
  });
  it.times = times_longer(*program.isa, core, has_outer);
  add(bounds(program, *loop, core), static_cast<double>(trips), it.bounds);
  it.cycles = cycles_per_iteration(program, *loop, core) * static_cast<double>(trips);
  if (around != nullptr) add_around(bounds(program, *around, core), 1, it);
  if (by_rows != nullptr) add_around(bounds(program, *by_rows, core), rows, it);
  it.clock = clock_share(*program.isa, core, counts, it.cycles);
  if (it.cycles > 0) it.macs_per_cycle = it.clock * static_cast<double>(it.macs) / it.cycles;
  if (peak > 0) it.peak_macs_per_cycle = static_cast<double>(it.macs) / peak;
  if (it.cycles > 0) it.share_of_peak = it.clock * peak / it.cycles;
  for (size_t i = 0; i < core.ports.size(); ++i) {
    it.ports.emplace_back(core.ports[i], it.bounds.port_load[i]);
  }
  if (program.allocated()) it.registers = register_map(program, *loop);
  return it;
}

std::string to_text(const Explanation& it) {
  std::string text = fmt::format("{} ({}), loop {}:\n", it.kernel, it.isa, it.loop);
  text += fmt::format("  {:.0f} multiply-accumulates, {} instructions: {:.1f} each\n",
                      static_cast<double>(it.macs) * it.times, it.instructions,
                      it.macs_per_instruction * it.times);
  for (const auto& [row, count] : it.mix) text += fmt::format("  {:6} {}\n", count, row);
  text += fmt::format("on {}{}:\n", it.core, it.vectors);
  text +=
      fmt::format("  {:.1f} cycles (ports {:.1f}, dispatch {:.1f}, loop-carried latency {:.1f})\n",
                  it.cycles, it.bounds.ports, it.bounds.dispatch, it.bounds.latency);
  text += fmt::format(
      "  {:.1f} multiply-accumulates per cycle, {:.0f} % of the {:.1f} that the core can do\n",
      it.macs_per_cycle * it.times, 100 * it.share_of_peak, it.peak_macs_per_cycle * it.times);
  if (it.clock != 1) {
    text += fmt::format("  at {:.0f} % of its usual clock, for which they count\n", 100 * it.clock);
  }
  text += "  busy cycles of ports:";
  for (const auto& [port, cycles] : it.ports) {
    if (cycles > 0) text += fmt::format(" {} {:.1f}", port, cycles);
  }
  text += '\n';
  if (it.registers.empty()) return text;
  text += "registers:\n";
  for (const RegisterUse& use : it.registers) {
    text += fmt::format("  {:6} {}\n", use.name, fmt::join(use.values, ", "));
  }
  return text;
}

}  // namespace tw
