// Bits of codes above the others, which sources and layouts keep in planes of their own.
#pragma once

#include <optional>
#include <vector>

#include "lower/bit_swap.h"
#include "lower/pack_place.h"
#include "lower/relayout.h"

namespace tw {

/// Packs those of some columns by the ISA's moves, or, where those of a column are a lane of 32
/// bits in source and layout, in another order, by exchanges within lanes.
class TopsPacker {
 public:
  TopsPacker(Builder& b, const Layout& layout, const Source& source, int64_t k);

  /// Memory that it needs, and is told of before it packs.
  [[nodiscard]] int64_t scratch_bytes() const;
  void use(Value scratch) { lanes_ = scratch; }

  /// Of all columns of a panel, so many values of k. Pointers: to the first column's blocks in the
  /// source, whose rows are so far apart, and to the panel's. `stream`: past the caches, if it can.
  void pack(Value from, Value stride, Value to, bool stream) const;

 private:
  [[nodiscard]] std::vector<Value> blocks_at(Value first) const;
  void pack_lanes(Value from, Value stride, Value to, bool stream) const;
  [[nodiscard]] Value exchange(Value lanes) const;

  Builder& b_;
  const Layout& panel_;
  const Layout layout_;  ///< a strip's
  const Source& source_;
  int64_t k_;
  std::optional<Relayout> way_;  ///< none: within lanes
  Masks masks_ = no_masks;
  std::vector<BitSwap> swaps_;
  std::vector<Value> swap_masks_;
  Value lanes_ = no_value;
};

/// Whether the ISA has such a way for tops of so many values of k; or there are none. In panels as
/// wide as vectors bytes hold those of one column.
bool can_move_tops(const Layout& layout, const Source& source, const Isa& isa, int64_t k);

/// Adds those of `k` values of a column to a panel, value by value, where no bits are set yet.
/// Pointers: to the column's first ones in the source, and to the panel's; `column`: number there.
void put_tops(const Given& given, const Layout& layout, const Source& source, Value from, Value to,
              Value column, int64_t k);

}  // namespace tw
