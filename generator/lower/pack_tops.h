// Bits of codes above the others, which sources and layouts keep in planes of their own.
#pragma once

#include <vector>

#include "lower/pack_place.h"
#include "lower/relayout.h"

namespace tw {

/// Packs those of some columns by the ISA's moves.
class TopsPacker {
 public:
  TopsPacker(Builder& b, const Layout& layout, const Source& source);

  /// Of all columns of a panel, so many values of k. Pointers: to the first column's blocks in the
  /// source, whose rows are so far apart, and to the panel's.
  void pack(Value from, Value stride, Value to, int64_t k) const;

 private:
  [[nodiscard]] std::vector<Value> blocks_at(Value first, int64_t k) const;

  Builder& b_;
  const Layout& panel_;
  const Layout layout_;  ///< a strip's
  const Part& source_;
  Relayout way_;
  Masks masks_;
};

/// Whether the ISA has such a way for tops of so many values of k; or there are none. In panels as
/// wide as vectors bytes hold those of one column.
bool can_move_tops(const Layout& layout, const Source& source, const Isa& isa, int64_t k);

/// Adds those of `k` values of a column to a panel, value by value, where no bits are set yet.
/// Pointers: to the column's first ones in the source, and to the panel's; `column`: number there.
void put_tops(const Given& given, const Layout& layout, const Source& source, Value from, Value to,
              Value column, int64_t k);

}  // namespace tw
