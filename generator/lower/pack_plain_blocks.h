// What stands beside a block's codes: taken from the source or the caller's arrays, column by
// column.
#pragma once

#include "lower/source_codes.h"

namespace tw {

/// A float of a source.
Value load_float(Builder& b, Value at, ElementType type, const char* name);

class PlainBlocks {
 public:
  PlainBlocks(Builder& b, const Layout& layout, const Source& source);

  // What is read once. The Values are made in this order.
  const Given given;
  const SourceCodes codes;
  const Value k;       ///< values of a row
  const Value padded;  ///< likewise, with padding
  const Value block;   ///< of a block, or a super-block; none: there are no blocks

  [[nodiscard]] Value blocks_in(Value values) const;

  /// Copies a block's scale, and what stands beside it; adds scale * sum, unless `at` is none.
  void keep(Value at, Value sum, Value first_k, Value row, Value column, Value scales) const;

  /// Of a source whose zero points are codes: that of a column's block, as a signed code.
  [[nodiscard]] Value zero_code(Value column, Value first_k) const;

  /// Where a field of a source's block is.
  [[nodiscard]] Value place_of(FieldKind kind, Value column, Value first_k, const char* name) const;
  /// That field as f32; none: the source has no such field.
  [[nodiscard]] Value real_of(FieldKind kind, Value column, Value first_k) const;

 private:
  [[nodiscard]] Value part_of(Value scale) const;
  void keep_zero_point(Value to, Value first_k, Value column) const;
  void keep_offset(Value to, Value scale, Value first_k, Value column) const;
  [[nodiscard]] Value beside(ArgField array, Value column, Value first_k, const char* name) const;

  Builder& b_;
  const Layout& layout_;
  const Source& source_;
};

}  // namespace tw
