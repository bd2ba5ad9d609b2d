// Rows of floats that become floats of another type on their way into a panel, or are a panel each.
#pragma once

#include "ir/builder.h"
#include "model/layout.h"
#include "model/sources.h"

namespace tw {

class RowConverter {
 public:
  static bool possible(const Layout& layout, const Source& source, const Isa& isa);
  /// Of `tail`.
  static int64_t tail_bytes(const Isa& isa);
  RowConverter(Builder& b, const Layout& layout, const Source& source, Value tail);

  /// Of so many values of the source, bytes.
  [[nodiscard]] Value source_bytes(Value values) const;
  /// `values` of them, and zeros up to a whole step: up to tail_bytes() are written behind them.
  void convert(Value to, Value from, Value values) const;

 private:
  Builder& b_;
  ElementType from_, to_;
  Value tail_;
  Value below_half_;
};

/// Panels of one row of floats, values in the order of k.
bool is_row(const Layout& layout);
void lower_pack_float_rows(Builder& b, const Layout& layout, const Source& source);

}  // namespace tw
