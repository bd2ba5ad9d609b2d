// Moving codes from the order of a source into that of a layout. No order has code of its own: the
// bits of a code's coordinates are the bits of its address, in one order before and in another
// after, and instructions permute them (ir/bit_map). The shortest way is searched.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

#include "ir/bit_map.h"
#include "ir/builder.h"
#include "lower/bit_swap.h"
#include "model/sources.h"

namespace tw {

/// Bits of coordinates; each is named by the coordinates that have no other.
using Bits = std::vector<Coordinates>;

/// Moves of every pair of vectors, whose numbers differ in what `symbol` names.
struct RelayoutStep {
  LaneMove move;
  /// So many bits: of every two neighbors of such a width the high one of the first vector and the
  /// low one of the second change places. 0: an instruction moves.
  int exchanged = 0;
  Coordinates symbol;
};

/// The way of one tile: all codes whose coordinates have bits of `tile` only.
struct Relayout {
  Coordinates tile;
  int unit = 2;                ///< lowest bit of a lane's number that says which code it is
  Bits loaded;                 ///< what those bits name in loaded vectors, lowest first
  std::vector<BitSwap> swaps;  ///< of loaded vectors, in lanes of 32 bits, before the steps
  int64_t loads = 1;           ///< of one vector: segments come from different places
  Bits numbers;                ///< what the bits of a loaded vector's number name
  std::vector<RelayoutStep> steps;
  Bits goal;           ///< as `loaded`, of packed vectors
  Coordinates turned;  ///< bits of the goal that are 1 where those of coordinates are 0
  [[nodiscard]] size_t vectors() const { return size_t{1} << numbers.size(); }
};

/// Of codes, or their tops; from so many bytes at a time that lie together in the source. None
/// where the ISA lacks moves, or registers. What it returns was run: every bit arrives where the
/// layout wants it.
std::optional<Relayout> find_relayout(const Layout& layout, const Source& source, const Isa& isa,
                                      int64_t run_bytes, FieldKind kind = FieldKind::data);

/// Instructions that move the vectors of a tile, without loads.
int64_t move_count(const Relayout& way, const Isa& isa);

/// Constants that the moves need, to be made outside of loops: the low one of every two neighbors
/// of 1, 2 and 4 bits, then what swaps move up.
constexpr size_t most_swaps = 3;
using Masks = std::array<Value, 3 + most_swaps>;
constexpr Masks no_masks = {no_value, no_value, no_value, no_value, no_value, no_value};
/// A move's instruction, on one value or two.
Value move(Builder& b, const MoveOp& op, Value x, Value y);
Masks relayout_masks(Builder& b, const Relayout& way);

/// Where the run of codes from these coordinates on is: pointer and offset in bytes.
using FindRun = std::function<std::pair<Value, int64_t>(Coordinates)>;
/// Takes packed vectors; the coordinates are those of the first code.
using TakePacked = std::function<void(Coordinates, Value)>;
void relayout_tile(Builder& b, const Relayout& way, const Masks& masks, Coordinates origin,
                   const FindRun& find, const TakePacked& take);
/// All tiles below `end`.
void relayout(Builder& b, const Relayout& way, const Masks& masks, Coordinates end,
              const FindRun& find, const TakePacked& take);

/// Distance of a code's byte, or of its tops', from the first one of those.
int64_t packed_offset(const Layout& layout, Coordinates at, FieldKind kind = FieldKind::data);

}  // namespace tw
