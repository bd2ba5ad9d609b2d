// Where a value lies, in a source or in a layout: its address from the digits of its coordinates.
#pragma once

#include "lower/pack_walk.h"

namespace tw {

/// The digits of a value's address; of a layout, of one in a panel.
FieldAxes path_of(const Part& root, FieldKind kind);
/// To values, from where those of a panel begin; with blocks from a block's start.
FieldAxes path_in_panel(const Layout& layout);

/// Without the digits that values of k below `end` do not have.
FieldAxes path_below(FieldAxes path, int64_t end);

/// What one coordinate adds to an address.
struct Reach {
  Value bytes = no_value;  ///< none: 0
  Value code = no_value;   ///< number in its byte, of the low one 0; none: not said
};

/// What addresses depend on, as the caller says it: read once.
struct Given {
  Builder& b;
  Value stride = b.arg(ArgField::pack_source_stride);
  Value segments = segments_of(b, "segments");  ///< of the vectors that panels are as wide as

  [[nodiscard]] Value length(Length length) const;
};

Value remainder(const Given& given, Value x, Length of);

/// coordinate / step % extent; the coarsest digit goes as far as the coordinate does.
Value digit(const Given& given, const Axis& axis, bool is_coarsest, Value coordinate);

Reach place(const Given& given, const FieldAxes& path, Dim dim, Value coordinate);

/// Where a row's or column's values from `k` on are, whose operand, or block, begins at `start`.
Reach moved(const Given& given, Value start, const FieldAxes& path, Value n, Value k,
            const char* name);

/// From where that says, a value of k.
Reach at_k(const Given& given, const Reach& row, const FieldAxes& path, Value k);

}  // namespace tw
