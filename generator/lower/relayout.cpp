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

constexpr size_t half_masks = 3;
constexpr uint8_t low_halves[] = {0x55, 0x33, 0x0f};  // of two neighbors of 1, 2 and 4 bits

/// Of every lane of 32 bits, a mask of Masks.
uint32_t mask_bits(const Relayout& way, size_t number) {
  if (number >= half_masks) return moved_up(way.swaps[number - half_masks]);
  return low_halves[number] * 0x01010101U;
}

/// The lowest lane that a search moves. Those of less than a nibble are too many for it: exchanges
/// bring them to where they belong in the end.
int searched_unit(int unit) {
  return unit < 2 ? 3 : unit;
}
Bits searched(const Relayout& way, const Bits& lanes) {
  return {lanes.begin() + (searched_unit(way.unit) - way.unit), lanes.end()};
}

/// What lanes of packed vectors hold; none unless each has one bit of the coordinates.
std::optional<Bits> goal_lanes(const Layout& layout, FieldKind kind, int unit, int width,
                               Coordinates& turned) {
  Bits goal(static_cast<size_t>(width - unit));
  const Part panels = axes(layout);
  for (const Axis& axis : field_axes(panels, kind).axes) {
    for (int64_t i = 1; i < axis.extent.fixed; i *= 2) {
      const auto distance = static_cast<uint64_t>(std::abs(axis.stride.fixed) * i);
      if (distance >> width != 0) continue;
      const auto lane = static_cast<size_t>(std::countr_zero(distance) - unit);
      const int64_t bit = axis.step.fixed * i;
      // Steps of other numbers, as where columns half a panel of 48 apart share a byte, are no
      // bits.
      const bool are_bits = std::has_single_bit(distance) && std::has_single_bit(uint64_t(bit));
      if (!are_bits || !(goal[lane] == Coordinates{})) return std::nullopt;
      goal[lane] = axis.dim == Dim::n ? Coordinates{bit, 0} : Coordinates{0, bit};
      if (axis.stride.fixed < 0) turned = turned + goal[lane];
    }
  }
  return among({}, goal) ? std::nullopt : std::optional(goal);
}

/// Distance of a code from the first one of its row, or column, of a source.
int64_t source_bit(const Source& source, FieldKind kind, Coordinates at) {
  const Sizes sizes{long_k, {}, 0};  // rows lie anywhere
  return place(source.axes, kind, at, sizes) - place(source.axes, kind, {}, sizes);
}

Bits source_lanes(const Source& source, FieldKind kind, int unit, int64_t run_bits) {
  Bits lanes;
  for (int64_t bit = int64_t{1} << unit; bit < run_bits; bit *= 2) {
    for (int64_t i = 1; i < long_k; i *= 2) {
      const Coordinates symbol = rows_are_k(source) ? Coordinates{i, 0} : Coordinates{0, i};
      if (source_bit(source, kind, symbol) == bit) lanes.push_back(symbol);
    }
  }
  return lanes;
}

struct Moved {
  std::vector<Value> vectors;
  Bits numbers;
};

bool inserts_nibbles(const Isa& isa, int bits) {
  return bits == 4 && isa.has(OpCode::shl_insert, 8) && isa.has(OpCode::shr_insert, 8);
}

/// The halves of bytes, nibbles or pairs of bits of x and y that are to be together: low ones in x,
/// high ones in y.
std::pair<Value, Value> exchange(const Isa& isa, const Masks& masks, int bits, Value x, Value y,
                                 const ApplyMove& apply) {
  if (inserts_nibbles(isa, bits)) {
    return {apply({OpCode::shl_insert, 8, 4}, x, y), apply({OpCode::shr_insert, 8, 4}, y, x)};
  }
  const Value mask = masks[static_cast<size_t>(std::countr_zero(static_cast<unsigned>(bits)))];
  const Value high = apply({OpCode::shr, 32, bits}, x, no_value);
  const Value differs = apply({OpCode::and_}, apply({OpCode::xor_}, high, y), mask);
  const Value back = apply({OpCode::shl, 32, bits}, differs, no_value);
  return {apply({OpCode::xor_}, x, back), apply({OpCode::xor_}, y, differs)};
}

/// What lanes of vectors, and bits of their numbers, hold.
struct Held {
  Bits lanes, numbers;

  /// Where the number of the step's symbol is.
  [[nodiscard]] size_t entering(const RelayoutStep& step) const {
    const auto found = std::find(numbers.begin(), numbers.end(), step.symbol);
    return static_cast<size_t>(found - numbers.begin());
  }

  void move(const RelayoutStep& step, int unit) {
    const size_t place = step.move.pair ? entering(step) : numbers.size();
    const Coordinates symbol = step.move.pair ? numbers[place] : Coordinates{};
    const Bits old = lanes;
    const auto taken = [&](int from) {
      const auto lane = static_cast<size_t>(from - unit);
      return lane < old.size() ? old[lane] : symbol;
    };
    for (size_t i = 0; i < lanes.size(); ++i) {
      lanes[i] = taken(step.move.from[i + static_cast<size_t>(unit)]);
    }
    if (step.move.pair) numbers[place] = taken(step.move.from.back());
  }
};

/// What lanes hold behind the swaps.
Bits swapped_lanes(const Relayout& way, Bits lanes) {
  for (const BitSwap& swap : way.swaps) {
    std::swap(lanes[size_t(swap.low - way.unit)], lanes[size_t(swap.high - way.unit)]);
  }
  return lanes;
}

/// Replays the way. A symbol that is to count backwards is turned when it enters the lanes first:
/// vectors are names, so that costs nothing.
Moved move_lanes(const Relayout& way, const Isa& isa, const Masks& masks,
                 std::vector<Value> vectors, const ApplyMove& apply) {
  for (size_t i = 0; i < way.swaps.size(); ++i) {
    for (Value& vector : vectors) {
      vector = swapped(apply, vector, way.swaps[i], masks[half_masks + i]);
    }
  }
  Held held{swapped_lanes(way, way.loaded), way.numbers};
  Coordinates to_turn = way.turned;
  for (const RelayoutStep& step : way.steps) {
    if (!step.move.pair) {
      for (Value& vector : vectors) vector = apply(step.move.first, vector, no_value);
    }
    const size_t place = step.move.pair ? held.entering(step) : 0;
    const Coordinates symbol = step.move.pair ? step.symbol : Coordinates{};
    const bool turns = both(symbol, to_turn) == symbol;
    to_turn = without(to_turn, symbol);
    for (size_t i = 0; i < vectors.size() && step.move.pair; ++i) {
      if ((i >> place & 1) != 0) continue;
      Value& x = vectors[i];
      Value& y = vectors[i | size_t{1} << place];
      if (turns) std::swap(x, y);
      if (step.exchanged != 0) {
        std::tie(x, y) = exchange(isa, masks, step.exchanged, x, y, apply);
        continue;
      }
      const Value second = apply(step.move.second, x, y);
      x = apply(step.move.first, x, y);
      y = second;
    }
    held.move(step, way.unit);
  }
  if (held.lanes != way.goal || !(to_turn == Coordinates{}))
    throw std::logic_error("a way leads elsewhere");
  return {std::move(vectors), std::move(held.numbers)};
}

/// What lanes of loaded vectors hold: within a run of the source, and the number of the run.
std::pair<Bits, Bits> split(const Relayout& way) {
  const auto end = way.loaded.end() - std::countr_zero(static_cast<uint64_t>(way.loads));
  return {{way.loaded.begin(), end}, {end, way.loaded.end()}};
}

/// A bit of a code: its number in loaded vectors, and its place in packed ones.
struct CodeBit {
  size_t from, vector, to;
};

/// All of them, of a way's tile. `numbers`: what the numbers of packed vectors name.
std::vector<CodeBit> code_bits(const Relayout& way, const Bits& numbers, const Layout& layout,
                               const Source& source, FieldKind kind, size_t vector_bits) {
  const Part panels = axes(layout);
  auto packed = [&](Coordinates at) { return place(panels, kind, at, {long_k, {}, 0}); };
  std::map<int64_t, size_t> starts;
  for (size_t i = 0; i < way.vectors(); ++i) starts[packed(named(i, numbers) + way.turned)] = i;
  const auto segment = static_cast<int64_t>(vector_bits) / way.loads;
  const auto [run, others] = split(way);
  std::vector<CodeBit> all;
  for (int64_t n = 0; n <= way.tile.n; ++n) {
    for (int64_t k = 0; k <= way.tile.k; ++k) {
      const Coordinates at{n, k};
      if (!(both(at, way.tile) == at)) continue;
      const int64_t in_run =
          source_bit(source, kind, at) - source_bit(source, kind, without(at, sum(run)));
      const int64_t lane = int64_t(number_of(at, others)) * segment + in_run;
      const size_t from = number_of(at, way.numbers) * vector_bits + size_t(lane);
      const int64_t to = packed(at);
      const auto [start, vector] = *std::prev(starts.upper_bound(to));
      for (size_t i = 0; i < size_t{1} << way.unit; ++i) {
        all.push_back({from + i, vector, size_t(to - start) + i});
      }
    }
  }
  return all;
}

/// Runs the way on bits that know where they come from, and compares with what the layout says.
void prove(const Relayout& way, const Layout& layout, const Isa& isa, const Source& source,
           FieldKind kind) {
  const auto bytes = static_cast<size_t>(isa.vector_bytes.fixed);
  std::vector<CodeBit> bits;
  // What bits hold: a digit of their numbers, or the opposite.
  const auto run = [&](int digit, bool opposite) {
    const auto is_set = [&](size_t number) { return ((number >> digit & 1) != 0) != opposite; };
    std::vector<std::vector<uint8_t>> values(way.vectors(), std::vector<uint8_t>(bytes));
    std::vector<Value> loaded;
    for (size_t i = 0; i < way.vectors() * 8 * bytes; ++i) {
      if (is_set(i)) values[i / 8 / bytes][i / 8 % bytes] |= uint8_t(1U << (i % 8));
    }
    for (size_t i = 0; i < way.vectors(); ++i) loaded.push_back(static_cast<Value>(i));
    Masks masks{};
    for (size_t i = 0; i < half_masks + way.swaps.size(); ++i) {
      masks[i] = static_cast<Value>(values.size());
      const uint32_t lane = mask_bits(way, i);
      values.emplace_back();
      for (size_t byte = 0; byte < bytes; ++byte) {
        values.back().push_back(static_cast<uint8_t>(lane >> (8 * (byte % 4))));
      }
    }
    const Moved moved =
        move_lanes(way, isa, masks, loaded, [&](const MoveOp& op, Value x, Value y) {
          std::vector<const uint8_t*> args = {values[static_cast<size_t>(x)].data()};
          if (y != no_value) args.push_back(values[static_cast<size_t>(y)].data());
          values.push_back(run_alone(op.code, op.bits, op.imm, args, bytes));
          return static_cast<Value>(values.size()) - 1;
        });
    if (bits.empty()) bits = code_bits(way, moved.numbers, layout, source, kind, 8 * bytes);
    for (const CodeBit& bit : bits) {
      const uint8_t byte = values[static_cast<size_t>(moved.vectors[bit.vector])][bit.to / 8];
      if ((byte >> (bit.to % 8) & 1) != is_set(bit.from)) {
        throw std::logic_error("a code does not arrive: " + canonical(layout));
      }
    }
  };
  for (int digit = 0; 8 * bytes * way.vectors() >> digit != 0; ++digit) {
    run(digit, false);
    run(digit, true);
  }
}

/// The lowest bits of a run of a source, with any `inserted` ones of the goal's bytes above them.
std::vector<Bits> possible_loads(const Bits& run, const Relayout& way, size_t inserted) {
  std::vector<Bits> all = {{run.begin(), run.begin() + int64_t(way.goal.size() - inserted)}};
  const Bits bytes = searched(way, way.goal);
  for (size_t i = 0; i < inserted; ++i) {
    std::vector<Bits> longer;
    for (const Bits& lanes : all) {
      for (const Coordinates bit : bytes) {
        if (among(bit, lanes)) continue;
        longer.push_back(lanes);
        longer.back().push_back(bit);
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// What makes room within bytes for lanes that a search moves, which it could not move out of
/// there: what the goal has there comes in, if lanes of 32 bits have it, else what it has nowhere.
std::vector<BitSwap> swaps_out_of_bytes(const Relayout& way, Bits lanes) {
  std::vector<BitSwap> swaps;
  const Bits bytes = searched(way, way.goal);
  const size_t low = way.goal.size() - bytes.size();
  const size_t end = std::min(size_t(5 - way.unit), lanes.size());
  for (size_t i = 0; i < low && i < lanes.size(); ++i) {
    if (!among(lanes[i], bytes)) continue;
    size_t other = i + 1;
    while (other < end && !(lanes[other] == way.goal[i])) ++other;
    if (other >= end) {
      other = low;
      while (other < end && among(lanes[other], way.goal)) ++other;
    }
    if (other >= end) return {};
    std::swap(lanes[i], lanes[other]);
    swaps.push_back({int(i) + way.unit, int(other) + way.unit});
  }
  return swaps;
}

/// What is left to exchanges of bits within bytes. False: a lane wants what another one has.
bool add_exchanges(Relayout& way, Held held) {
  const int lanes = searched_unit(way.unit) - way.unit;
  for (int i = 0; i < lanes; ++i) {
    const Coordinates wanted = way.goal[static_cast<size_t>(i)];
    if (held.lanes[static_cast<size_t>(i)] == wanted) continue;
    if (!among(wanted, held.numbers)) return false;
    const int bits = 1 << (way.unit + i);
    way.steps.push_back({exchange_of(bits, way.goal.size() + size_t(way.unit)), bits, wanted});
    held.move(way.steps.back(), way.unit);
  }
  return true;
}

/// The cheapest way from any of these loads; none if it would take too many vectors.
std::optional<Relayout> way_from(const std::vector<Bits>& loads,
                                 const std::vector<PricedMove>& moves, size_t most_vectors,
                                 Relayout way) {
  std::vector<LaneOrder> starts;
  const Bits goal = searched(way, way.goal);
  const auto wanted = [&](Coordinates bit) { return among(bit, goal); };
  for (const Bits& loaded : loads) {
    const Bits lanes = swapped_lanes(way, loaded);
    // The search moves nothing out of the lanes below those that it moves.
    const auto low_end = lanes.begin() + (searched_unit(way.unit) - way.unit);
    if (std::any_of(lanes.begin(), low_end, wanted)) return std::nullopt;
    starts.emplace_back();
    for (const Coordinates bit : searched(way, lanes)) {
      const auto at = std::find(goal.begin(), goal.end(), bit) - goal.begin();
      starts.back().push_back(wanted(bit) ? static_cast<int>(at) + 1 : 0);
    }
  }
  if (starts.empty()) return std::nullopt;
  const auto spare = static_cast<int>(std::count(starts[0].begin(), starts[0].end(), 0));
  if (size_t{1} << spare > most_vectors) return std::nullopt;
  const std::optional<FoundWay> found = shortest_way(moves, searched_unit(way.unit), starts, spare);
  if (!found) return std::nullopt;
  way.loaded = loads[found->start];
  for (const Coordinates bit : way.goal) {
    if (!among(bit, way.loaded)) way.numbers.push_back(bit);
  }
  if (way.vectors() > most_vectors) return std::nullopt;
  Held held{swapped_lanes(way, way.loaded), way.numbers};
  for (const auto& [move, symbol] : found->steps) {
    RelayoutStep step{moves[move].move, moves[move].exchanged, {}};
    if (symbol > 0) step.symbol = goal[static_cast<size_t>(symbol) - 1];
    if (symbol == 0) {
      step.symbol = *std::find_if_not(held.numbers.begin(), held.numbers.end(), wanted);
    }
    held.move(step, way.unit);
    way.steps.push_back(step);
  }
  way.tile = sum(way.loaded) + sum(way.numbers);
  return add_exchanges(way, held) ? std::optional(way) : std::nullopt;
}

}  // namespace

std::optional<Relayout> find_relayout(const Layout& layout, const Source& source, const Isa& isa,
                                      int64_t run_bytes, FieldKind kind) {
  const RegisterFile* file = isa.file_of(Kind::vector);
  if (file == nullptr || !isa.vector_bytes.is_fixed() || isa.vector_bytes.fixed < 16 ||
      !layout.panel.is_fixed()) {
    return std::nullopt;
  }
  Relayout way;
  way.unit = std::countr_zero(static_cast<unsigned>(bits(field_of(layout, kind).type)));
  const int width = std::countr_zero(static_cast<uint64_t>(8 * isa.vector_bytes.fixed));
  const auto goal = goal_lanes(layout, kind, way.unit, width, way.turned);
  if (!goal) return std::nullopt;
  way.goal = *goal;
  const std::vector<PricedMove> moves = priced_moves(isa, searched_unit(way.unit));
  const Bits run = source_lanes(source, kind, way.unit, 8 * run_bytes);
  if (can_swap_bits(isa)) way.swaps = swaps_out_of_bytes(way, run);
  const bool inserts = isa.has(OpCode::load_dup, 128) && isa.has(OpCode::load_lane, 128);
  const auto most_vectors = static_cast<size_t>(file->count());
  std::optional<Relayout> best;
  for (const size_t inserted : {size_t{0}, static_cast<size_t>(width - 7)}) {
    if (best || run.size() + inserted < goal->size() || (inserted > 0 && !inserts)) continue;
    way.loads = int64_t{1} << inserted;
    best = way_from(possible_loads(run, way, inserted), moves, most_vectors, way);
  }
  if (best) prove(*best, layout, isa, source, kind);
  return best;
}

int64_t move_count(const Relayout& way, const Isa& isa) {
  int64_t count = 0;
  std::vector<Value> vectors(way.vectors());
  move_lanes(way, isa, {}, vectors, [&](const MoveOp&, Value, Value) {
    ++count;
    return Value{0};
  });
  return count;
}

Masks relayout_masks(Builder& b, const Relayout& way) {
  Masks masks = no_masks;
  const char* const names[] = {"low_bits", "low_pairs", "low_nibbles"};
  for (const RelayoutStep& step : way.steps) {
    if (step.exchanged == 0 || inserts_nibbles(b.isa(), step.exchanged)) continue;
    const auto i = static_cast<size_t>(std::countr_zero(static_cast<unsigned>(step.exchanged)));
    if (masks[i] == no_value) masks[i] = splat32(b, mask_bits(way, i), names[i]);
  }
  for (size_t i = 0; i < way.swaps.size(); ++i) {
    masks[half_masks + i] = splat32(b, moved_up(way.swaps[i]), "moved_up");
  }
  return masks;
}

Value move(Builder& b, const MoveOp& op, Value x, Value y) {
  const Builder::With with{.bits = op.bits, .imm = op.imm};
  return y == no_value ? b.op(op.code, {x}, with) : b.op(op.code, {x, y}, with);
}

void relayout_tile(Builder& b, const Relayout& way, const Masks& masks, Coordinates origin,
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
      move_lanes(way, b.isa(), masks, loaded,
                 [&](const MoveOp& op, Value x, Value y) { return move(b, op, x, y); });
  // Neighbors one after the other: lines that are streamed fill up.
  std::map<std::pair<int64_t, int64_t>, Value> in_order;
  for (size_t i = 0; i < moved.vectors.size(); ++i) {
    const Coordinates at = origin + named(i, moved.numbers) + way.turned;
    in_order[{at.k, at.n}] = moved.vectors[i];
  }
  for (const auto& [at, vector] : in_order) take({at.second, at.first}, vector);
}

void relayout(Builder& b, const Relayout& way, const Masks& masks, Coordinates end,
              const FindRun& find, const TakePacked& take) {
  for (int64_t n = 0; n < end.n; ++n) {
    for (int64_t k = 0; k < end.k; ++k) {
      const Coordinates origin{n, k};
      if (both(origin, way.tile) == Coordinates{}) relayout_tile(b, way, masks, origin, find, take);
    }
  }
}

int64_t packed_offset(const Layout& layout, Coordinates at, FieldKind kind) {
  const Part panels = axes(layout);
  const int64_t first = start(panels, kind, long_k).fixed;
  return (place(panels, kind, at, {long_k, {}, 0}) - first) / 8;
}

}  // namespace tw
