#include "schedule/pipeline.h"

#include <algorithm>
#include <optional>
#include <unordered_set>

#include "schedule/effects.h"
#include "schedule/list_schedule.h"
#include "schedule/liveness.h"
#include "schedule/pressure.h"
#include "schedule/rotate.h"
#include "schedule/simulate.h"

namespace tw {
namespace {

/// A gain below this is not worth another shape of the loop.
constexpr double worthwhile = 0.98;

/// A hot loop's place in a Program, which clones share.
struct Spot {
  Region* region = nullptr;
  size_t node = 0;
  [[nodiscard]] Loop& loop() const { return *std::get<std::unique_ptr<Loop>>(region->nodes[node]); }
};

void find_hot_loops(Region& region, std::vector<Spot>& spots) {
  for (size_t i = 0; i < region.nodes.size(); ++i) {
    const auto* loop = std::get_if<std::unique_ptr<Loop>>(&region.nodes[i]);
    if (loop != nullptr && (*loop)->hot) spots.push_back({&region, i});
    for_each_region(region.nodes[i], [&](Region& inner) { find_hot_loops(inner, spots); });
  }
}

std::vector<Spot> hot_loops(Program& program) {
  std::vector<Spot> spots;
  find_hot_loops(program.body, spots);
  return spots;
}

bool is_straight(const Loop& loop) {
  return std::all_of(loop.body.nodes.begin(), loop.body.nodes.end(),
                     [](const Node& node) { return std::holds_alternative<Op>(node); });
}

/// Vector registers that are left for what the loop's body touches.
int free_registers(const Program& program, const Loop& loop) {
  const Liveness live = liveness(program);
  const auto span = std::find_if(live.loops.begin(), live.loops.end(),
                                 [&](const Liveness::Span& s) { return s.loop == &loop; });
  std::unordered_set<Value> touched(loop.params.begin(), loop.params.end());
  for_each_use(loop.body, [&](Value v) { touched.insert(v); });
  int left = program.isa->file_of(Kind::vector)->count();
  for (size_t v = 0; v < program.values.size(); ++v) {
    left -= program.values[v].type.kind == Kind::vector &&
            !touched.contains(static_cast<Value>(v)) && covers(live.of[v], span->head + 1) &&
            covers(live.of[v], span->tail + 1);
  }
  return left;
}

/// The early part that begins with the first `loads` loads: what they need and, when `decodes`,
/// what can be computed from them alone.
std::vector<char> early_part(const Program& program, const Loop& loop, int loads, bool decodes) {
  std::vector<const Op*> ops;
  for (const Node& node : loop.body.nodes) ops.push_back(&std::get<Op>(node));
  const Dependences graph = dependences(program, ops);
  std::vector<char> early(ops.size(), 0);
  const auto take = [&](auto& self, int i) -> void {
    if (early[static_cast<size_t>(i)]) return;
    early[static_cast<size_t>(i)] = 1;
    for (int before : graph.before[static_cast<size_t>(i)]) self(self, before);
  };
  for (size_t i = 0; i < ops.size() && loads > 0; ++i) {
    if (effects(program, *ops[i]).accesses.empty()) continue;
    take(take, static_cast<int>(i));
    --loads;
  }
  for (size_t i = 0; i < ops.size() && decodes; ++i) {
    const std::vector<int>& before = graph.before[i];
    const bool follows = !before.empty() && !ops[i]->results.empty() &&
                         std::all_of(before.begin(), before.end(),
                                     [&](int b) { return early[static_cast<size_t>(b)] != 0; });
    const bool of_variables = std::any_of(ops[i]->args.begin(), ops[i]->args.end(), [&](Value v) {
      return std::find(loop.params.begin(), loop.params.end(), v) != loop.params.end();
    });
    if (follows && !of_variables) early[i] = 1;
  }
  return early;
}

int count_loads(const Program& program, const Loop& loop) {
  return static_cast<int>(std::count_if(
      loop.body.nodes.begin(), loop.body.nodes.end(),
      [&](const Node& node) { return !effects(program, std::get<Op>(node)).accesses.empty(); }));
}

bool writes_memory(const Program& program, const Loop& loop) {
  return std::any_of(loop.body.nodes.begin(), loop.body.nodes.end(), [&](const Node& node) {
    const Effects its = effects(program, std::get<Op>(node));
    return its.writes() || its.barrier;
  });
}

/// Puts the rotated loop in place of the loop at `spot`; returns where the main loop is.
Spot place(const Spot& spot, Rotated rotated) {
  std::vector<Node> nodes;
  size_t main = 0;
  for (size_t i = 0; i < spot.region->nodes.size(); ++i) {
    if (i != spot.node) {
      nodes.push_back(std::move(spot.region->nodes[i]));
      continue;
    }
    for (Op& op : rotated.before) nodes.emplace_back(std::move(op));
    nodes.emplace_back(std::move(rotated.first));
    main = nodes.size();
    nodes.emplace_back(std::move(rotated.main));
    nodes.emplace_back(std::move(rotated.last));
  }
  spot.region->nodes = std::move(nodes);
  return {spot.region, main};
}

class Pipeliner {
 public:
  Pipeliner(Program& program, const CoreModel& core, size_t index, int spare)
      : program_(program), core_(core), index_(index), spare_(spare) {
    const Pressure now = vector_pressure(program);
    allowed_ = std::max(now.most, now.available - spare);
    cycles_ = cycles_per_iteration(program, loop(program), core);
  }

  void run() {
    consider(clone(program_));
    if (!writes_memory(program_, loop(program_))) {
      const int loads = count_loads(program_, loop(program_));
      // More loads take more registers: what does not fit ends the search.
      bool fits = true;
      for (int n = 1; n <= loads && fits; ++n) {
        const bool without = consider_rotated(n, false);
        fits = consider_rotated(n, true) || without;
      }
    }
    if (best_) program_ = std::move(*best_);
  }

 private:
  Loop& loop(Program& program) const { return hot_loops(program)[index_].loop(); }

  /// False if it does not fit the registers.
  bool consider_rotated(int loads, bool decodes) {
    const std::vector<char> early = early_part(program_, loop(program_), loads, decodes);
    Program trial = clone(program_);
    const Spot spot = hot_loops(trial)[index_];
    std::optional<Rotated> rotated = rotate(trial, spot.loop(), early);
    if (!rotated) return false;
    place(spot, std::move(*rotated));
    return consider(std::move(trial));
  }

  /// Schedules the loop in `trial` and keeps it if it is the fastest so far and fits.
  bool consider(Program trial) {
    Loop& it = loop(trial);
    list_schedule(trial, it, core_, free_registers(trial, it) - spare_);
    const double cycles = cycles_per_iteration(trial, it, core_);
    if (vector_pressure(trial).most > allowed_) return false;
    if (cycles < cycles_ * worthwhile) {
      cycles_ = cycles;
      best_ = std::move(trial);
    }
    return true;
  }

  Program& program_;
  const CoreModel& core_;
  size_t index_;
  int spare_;
  int allowed_ = 0;
  double cycles_ = 0;
  std::optional<Program> best_;
};

}  // namespace

void pipeline(Program& program, const CoreModel& core, int spare) {
  if (!core.in_order) return;
  for (size_t i = 0; i < hot_loops(program).size(); ++i) {
    if (is_straight(hot_loops(program)[i].loop())) Pipeliner(program, core, i, spare).run();
  }
}

}  // namespace tw
