#include "lower/relayout.h"

#include <algorithm>
#include <bit>
#include <map>
#include <stdexcept>
#include <tuple>

#include "ir/meaning.h"
#include "lower/relayout_search.h"
#include "lower/splat.h"

namespace tw {
namespace {

Coordinates operator+(Coordinates a, Coordinates b) {
  return {a.n + b.n, a.k + b.k};
}
Coordinates both(Coordinates a, Coordinates b) {
  return {a.n & b.n, a.k & b.k};
}
Coordinates without(Coordinates a, Coordinates b) {
  return {a.n & ~b.n, a.k & ~b.k};
}
/// What the bits of `number` name.
Coordinates named(size_t number, const Bits& bits) {
  Coordinates at;
  for (size_t i = 0; i < bits.size(); ++i) {
    if ((number >> i & 1) != 0) at = at + bits[i];
  }
  return at;
}
size_t number_of(Coordinates at, const Bits& bits) {
  size_t number = 0;
  for (size_t i = 0; i < bits.size(); ++i) {
    if (both(at, bits[i]) == bits[i]) number |= size_t{1} << i;
  }
  return number;
}
Coordinates sum(const Bits& bits) {
  return named((size_t{1} << bits.size()) - 1, bits);
}
bool among(Coordinates bit, const Bits& bits) {
  return std::find(bits.begin(), bits.end(), bit) != bits.end();
}

constexpr int64_t long_k = 4096;  // no tile is longer

/// What lanes of packed vectors hold; none unless each has one bit of the coordinates.
std::optional<Bits> goal_lanes(const Layout& layout, int unit, int width, Coordinates& turned) {
  Bits goal(static_cast<size_t>(width - unit));
  const Part panels = axes(layout);
  for (const Axis& axis : field_axes(panels, FieldKind::data).axes) {
    for (int64_t i = 1; i < axis.extent.fixed; i *= 2) {
      const auto distance = static_cast<uint64_t>(std::abs(axis.stride.fixed) * i);
      if (distance >> width != 0) continue;
      const auto lane = static_cast<size_t>(std::countr_zero(distance) - unit);
      if (!std::has_single_bit(distance) || !(goal[lane] == Coordinates{})) return std::nullopt;
      const int64_t bit = axis.step.fixed * i;
      goal[lane] = axis.dim == Dim::n ? Coordinates{bit, 0} : Coordinates{0, bit};
      if (axis.stride.fixed < 0) turned = turned + goal[lane];
    }
  }
  return among({}, goal) ? std::nullopt : std::optional(goal);
}

/// Distance of a code from the first one of its row, or column, of a source.
int64_t source_bit(const Source& source, Coordinates at) {
  const Sizes sizes{long_k, {}, 0};  // rows lie anywhere
  return place(source.axes, FieldKind::data, at, sizes) -
         place(source.axes, FieldKind::data, {}, sizes);
}

Bits source_lanes(const Source& source, int unit, int64_t run_bits) {
  Bits lanes;
  for (int64_t bit = int64_t{1} << unit; bit < run_bits; bit *= 2) {
    for (int64_t i = 1; i < run_bits; i *= 2) {
      const Coordinates symbol = rows_are_k(source) ? Coordinates{i, 0} : Coordinates{0, i};
      if (source_bit(source, symbol) == bit) lanes.push_back(symbol);
    }
  }
  return lanes;
}

/// An instruction on one value, or two.
using Apply = std::function<Value(const MoveOp&, Value, Value)>;

struct Moved {
  std::vector<Value> vectors;
  Bits numbers;
};

/// The nibbles of x and y that are to be together: low ones in x, high ones in y.
std::pair<Value, Value> exchange_nibbles(const Isa& isa, Value mask, Value x, Value y,
                                         const Apply& apply) {
  if (isa.has(OpCode::shl_insert, 8)) {
    return {apply({OpCode::shl_insert, 8, 4}, x, y), apply({OpCode::shr_insert, 8, 4}, y, x)};
  }
  const Value high = apply({OpCode::shr, 32, 4}, x, no_value);
  const Value differs = apply({OpCode::and_}, apply({OpCode::xor_}, high, y), mask);
  const Value back = apply({OpCode::shl, 32, 4}, differs, no_value);
  return {apply({OpCode::xor_}, x, back), apply({OpCode::xor_}, y, differs)};
}

/// Where in `numbers` the step's symbol is.
size_t entering(const RelayoutStep& step, const Relayout& way, const Bits& numbers) {
  const auto found = std::find_if(numbers.begin(), numbers.end(), [&](Coordinates symbol) {
    return step.symbol == Coordinates{} ? !among(symbol, way.goal) : symbol == step.symbol;
  });
  return static_cast<size_t>(found - numbers.begin());
}

/// Replays the way. A symbol that is to count backwards is turned when it enters the lanes first:
/// vectors are names, so that costs nothing.
Moved move_lanes(const Relayout& way, const Isa& isa, Value mask, std::vector<Value> vectors,
                 const Apply& apply) {
  Bits lanes = way.loaded;
  Bits numbers = way.numbers;
  Coordinates to_turn = way.turned;
  for (const RelayoutStep& step : way.steps) {
    if (!step.move.pair) {
      for (Value& vector : vectors) vector = apply(step.move.first, vector, no_value);
    }
    const size_t place = step.move.pair ? entering(step, way, numbers) : numbers.size();
    const Coordinates symbol = step.move.pair ? numbers[place] : Coordinates{};
    const bool turns = both(symbol, to_turn) == symbol;
    to_turn = without(to_turn, symbol);
    for (size_t i = 0; i < vectors.size() && step.move.pair; ++i) {
      if ((i >> place & 1) != 0) continue;
      Value& x = vectors[i];
      Value& y = vectors[i | size_t{1} << place];
      if (turns) std::swap(x, y);
      if (step.nibbles) {
        std::tie(x, y) = exchange_nibbles(isa, mask, x, y, apply);
        continue;
      }
      const Value second = apply(step.move.second, x, y);
      x = apply(step.move.first, x, y);
      y = second;
    }
    const Bits old = lanes;
    auto taken = [&](int from) {
      const auto lane = static_cast<size_t>(from - way.unit);
      return lane < old.size() ? old[lane] : symbol;
    };
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[i] = taken(step.move.from[i + static_cast<size_t>(way.unit)]);
    }
    if (step.move.pair) numbers[place] = taken(step.move.from.back());
  }
  if (lanes != way.goal || !(to_turn == Coordinates{}))
    throw std::logic_error("a way leads elsewhere");
  return {std::move(vectors), std::move(numbers)};
}

/// What lanes of loaded vectors hold: within a run of the source, and the number of the run.
std::pair<Bits, Bits> split(const Relayout& way) {
  const auto end = way.loaded.end() - std::countr_zero(static_cast<uint64_t>(way.loads));
  return {{way.loaded.begin(), end}, {end, way.loaded.end()}};
}

/// Runs the way on bits that know where they come from, and compares with what the layout says.
class Proof {
 public:
  Proof(const Relayout& way, const Layout& layout, const Isa& isa, const Source& source)
      : way_(way), layout_(layout), isa_(isa), source_(source) {
    const size_t all = 8 * bytes() * way.vectors();
    for (int digit = 0; all >> digit != 0; ++digit) {
      run(digit, false);
      run(digit, true);
    }
  }

 private:
  [[nodiscard]] size_t bytes() const { return static_cast<size_t>(isa_.vector_bytes.fixed); }

  void run(int digit, bool opposite) {
    store_.assign(way_.vectors() + 1, std::vector<uint8_t>(bytes()));
    std::vector<Value> loaded;
    for (size_t i = 0; i < way_.vectors() * 8 * bytes(); ++i) {
      const bool set = (i >> digit & 1) != 0;
      if (set != opposite) store_[i / 8 / bytes()][i / 8 % bytes()] |= uint8_t(1U << (i % 8));
    }
    for (size_t i = 0; i < way_.vectors(); ++i) loaded.push_back(static_cast<Value>(i));
    store_.back().assign(bytes(), 0x0f);
    const auto mask = static_cast<Value>(way_.vectors());
    const Moved moved =
        move_lanes(way_, isa_, mask, loaded, [&](const MoveOp& op, Value x, Value y) {
          std::vector<const uint8_t*> args = {store_[static_cast<size_t>(x)].data()};
          if (y != no_value) args.push_back(store_[static_cast<size_t>(y)].data());
          store_.push_back(run_alone(op.code, op.bits, op.imm, args, bytes()));
          return static_cast<Value>(store_.size()) - 1;
        });
    if (places_.empty()) find_places(moved);
    for (const Bit& bit : places_) {
      const uint8_t byte = store_[static_cast<size_t>(moved.vectors[bit.vector])][bit.to / 8];
      const bool set = (byte >> (bit.to % 8) & 1) != 0;
      if ((set != opposite) != ((bit.from >> digit & 1) != 0)) {
        throw std::logic_error("a code does not arrive: " + canonical(layout_));
      }
    }
  }

  /// Of every bit of every code: its number in loaded vectors, and its place in packed ones.
  struct Bit {
    size_t from, vector, to;
  };
  void find_places(const Moved& moved) {
    const Part panels = axes(layout_);
    auto packed = [&](Coordinates at) {
      return place(panels, FieldKind::data, at, {long_k, {}, 0});
    };
    std::map<int64_t, size_t> starts;
    for (size_t i = 0; i < moved.vectors.size(); ++i) {
      starts[packed(named(i, moved.numbers) + way_.turned)] = i;
    }
    const auto segment = static_cast<int64_t>(8 * bytes()) / way_.loads;
    const auto [run, others] = split(way_);
    for (int64_t n = 0; n <= way_.tile.n; ++n) {
      for (int64_t k = 0; k <= way_.tile.k; ++k) {
        const Coordinates at{n, k};
        if (!(both(at, way_.tile) == at)) continue;
        const int64_t in_run = source_bit(source_, at) - source_bit(source_, without(at, sum(run)));
        const int64_t lane = int64_t(number_of(at, others)) * segment + in_run;
        const size_t from = number_of(at, way_.numbers) * 8 * bytes() + size_t(lane);
        const int64_t to = packed(at);
        const auto [start, vector] = *std::prev(starts.upper_bound(to));
        for (size_t i = 0; i < size_t{1} << way_.unit; ++i) {
          places_.push_back({from + i, vector, size_t(to - start) + i});
        }
      }
    }
  }

  const Relayout& way_;
  const Layout& layout_;
  const Isa& isa_;
  const Source& source_;
  std::vector<std::vector<uint8_t>> store_;  ///< values
  std::vector<Bit> places_;
};

/// The lowest bits of a run of a source, with any `inserted` ones of the goal's above them.
std::vector<Bits> possible_loads(const Bits& run, const Bits& goal, size_t inserted) {
  std::vector<Bits> all = {{run.begin(), run.begin() + int64_t(goal.size() - inserted)}};
  for (size_t i = 0; i < inserted; ++i) {
    std::vector<Bits> longer;
    for (const Bits& lanes : all) {
      for (const Coordinates bit : goal) {
        if (among(bit, lanes)) continue;
        longer.push_back(lanes);
        longer.back().push_back(bit);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// The cheapest way from any of these loads; none if it would take too many vectors.
std::optional<Relayout> way_from(const std::vector<Bits>& loads,
                                 const std::vector<PricedMove>& moves, size_t most_vectors,
                                 Relayout way) {
  std::vector<LaneOrder> starts;
  for (const Bits& lanes : loads) {
    starts.emplace_back();
    for (const Coordinates bit : lanes) {
      const auto at = std::find(way.goal.begin(), way.goal.end(), bit) - way.goal.begin();
      starts.back().push_back(among(bit, way.goal) ? static_cast<int>(at) + 1 : 0);
    }
  }
  if (starts.empty()) return std::nullopt;
  const auto spare = static_cast<int>(std::count(starts[0].begin(), starts[0].end(), 0));
  if (size_t{1} << spare > most_vectors) return std::nullopt;
  const std::optional<FoundWay> found = shortest_way(moves, way.unit, starts, spare);
  if (!found) return std::nullopt;
  way.loaded = loads[found->start];
  for (const Coordinates bit : way.goal) {
    if (!among(bit, way.loaded)) way.numbers.push_back(bit);
  }
  for (const auto& [move, symbol] : found->steps) {
    way.steps.push_back({moves[move].move, moves[move].nibbles,
                         symbol > 0 ? way.goal[static_cast<size_t>(symbol) - 1] : Coordinates{}});
  }
  way.tile = sum(way.loaded) + sum(way.numbers);
  return way;
}

}  // namespace

std::optional<Relayout> find_relayout(const Layout& layout, const Source& source, const Isa& isa,
                                      int64_t run_bytes) {
  const RegisterFile* file = isa.file_of(Kind::vector);
  if (file == nullptr || !isa.vector_bytes.is_fixed() || isa.vector_bytes.fixed < 16 ||
      !layout.panel.is_fixed()) {
    return std::nullopt;
  }
  Relayout way;
  way.unit = std::countr_zero(static_cast<unsigned>(bits(layout.element)));
  const int width = std::countr_zero(static_cast<uint64_t>(8 * isa.vector_bytes.fixed));
  const auto goal = goal_lanes(layout, way.unit, width, way.turned);
  if (!goal) return std::nullopt;
  way.goal = *goal;
  const std::vector<PricedMove> moves = priced_moves(isa, way.unit);
  const Bits run = source_lanes(source, way.unit, 8 * run_bytes);
  const bool inserts = isa.has(OpCode::load_dup, 128) && isa.has(OpCode::load_lane, 128);
  const auto most_vectors = static_cast<size_t>(file->count());
  std::optional<Relayout> best;
  for (const size_t inserted : {size_t{0}, static_cast<size_t>(width - 7)}) {
    if (best || run.size() + inserted < goal->size() || (inserted > 0 && !inserts)) continue;
    way.loads = int64_t{1} << inserted;
    best = way_from(possible_loads(run, *goal, inserted), moves, most_vectors, way);
  }
  if (best) Proof(*best, layout, isa, source);
  return best;
}

int64_t move_count(const Relayout& way, const Isa& isa) {
  int64_t count = 0;
  std::vector<Value> vectors(way.vectors());
  move_lanes(way, isa, 0, vectors, [&](const MoveOp&, Value, Value) {
    ++count;
    return Value{0};
  });
  return count;
}

Value relayout_mask(Builder& b, const Relayout& way) {
  const bool masks = std::any_of(way.steps.begin(), way.steps.end(),
                                 [](const RelayoutStep& step) { return step.nibbles; });
  return masks && !b.isa().has(OpCode::shl_insert, 8) ? splat32(b, 0x0f0f0f0fU, "low_nibbles")
                                                      : no_value;
}

void relayout_tile(Builder& b, const Relayout& way, Value mask, Coordinates origin,
                   const FindRun& find, const TakePacked& take) {
  const Bits segments = split(way).second;
  std::vector<Value> loaded;
  for (size_t i = 0; i < way.vectors(); ++i) {
    const Coordinates first = origin + named(i, way.numbers);
    const auto [pointer, offset] = find(first);
    Value vector = b.op(way.loads > 1 ? OpCode::load_dup : OpCode::load, {pointer},
                        {.bits = way.loads > 1 ? 128 : 0, .offset = offset});
    for (int64_t s = 1; s < way.loads; ++s) {
      const auto [from, behind] = find(first + named(static_cast<size_t>(s), segments));
      vector = b.op(OpCode::load_lane, {vector, from}, {.bits = 128, .offset = behind, .imm = s});
    }
    loaded.push_back(vector);
  }
  const Moved moved =
      move_lanes(way, b.isa(), mask, loaded, [&](const MoveOp& op, Value x, Value y) {
        const Builder::With with{.bits = op.bits, .imm = op.imm};
        return y == no_value ? b.op(op.code, {x}, with) : b.op(op.code, {x, y}, with);
      });
  // Neighbors one after the other: lines that are streamed fill up.
  std::map<std::pair<int64_t, int64_t>, Value> in_order;
  for (size_t i = 0; i < moved.vectors.size(); ++i) {
    const Coordinates at = origin + named(i, moved.numbers) + way.turned;
    in_order[{at.k, at.n}] = moved.vectors[i];
  }
  for (const auto& [at, vector] : in_order) take({at.second, at.first}, vector);
}

void relayout(Builder& b, const Relayout& way, Value mask, Coordinates end, const FindRun& find,
              const TakePacked& take) {
  for (int64_t n = 0; n < end.n; ++n) {
    for (int64_t k = 0; k < end.k; ++k) {
      const Coordinates origin{n, k};
      if (both(origin, way.tile) == Coordinates{}) relayout_tile(b, way, mask, origin, find, take);
    }
  }
}

int64_t packed_offset(const Layout& layout, Coordinates at) {
  const Part panels = axes(layout);
  const int64_t data = start(panels, FieldKind::data, long_k).fixed;
  return (place(panels, FieldKind::data, at, {long_k, {}, 0}) - data) / 8;
}

}  // namespace tw
