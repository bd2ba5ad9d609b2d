// Sums of codes while they are packed, added to the panel's sums field at the end.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "ir/builder.h"
#include "model/layout.h"

namespace tw {

/// Constants that all sums of a Program share.
struct SumWeights {
  Value ones;
  Value nibbles;  ///< the nibbles that stand as they are multiplied: low ones if they are unsigned
  Value ones16 = no_value;                ///< where products add up in 16 bits first
  Value quarters = no_value;              ///< of codes of two bits every other one
  Value even = no_value, odd = no_value;  ///< ones where lanes have codes of such columns
  SumWeights(Builder& b, const Layout& layout);
};
/// None of layouts that keep no sums of codes, as those of floats.
std::optional<SumWeights> sum_weights(Builder& b, const Layout& layout);

/// Sums of the columns of `vectors` neighbouring packed vectors, numbered as they lie in a group
/// of k.
///   none    one accumulator a vector: every dword lane is a column, or two are when kr is 8
///   depth   likewise, of 16 * sum of nibbles
///   column  two a vector, of whole bytes (16 * high + low nibble) and of low nibbles
///   next    two a vector, of 16 * sum of nibbles: of even and of odd columns, two of which have a
///           dword lane
class CodeSums {
 public:
  /// Without weights there are none: nothing is carried, and add() does nothing.
  CodeSums(Builder& b, const Layout& layout, const std::optional<SumWeights>& weights,
           int64_t vectors);

  explicit operator bool() const { return weights_.has_value(); }

  [[nodiscard]] static bool possible(const Layout& layout, const Isa& isa);
  /// What sums of such a layout are multiplied by, if this is to write them.
  [[nodiscard]] static int factor(const Layout& layout);

  [[nodiscard]] size_t accumulators() const;
  /// Accumulators to carry through the loop, all zero.
  [[nodiscard]] std::vector<Value> start() const;
  /// Adds packed vector `vector` to its accumulators in `carried`.
  void add(std::span<Value> carried, size_t vector, Value codes) const;
  /// None and depth: factor() times the sums of the columns of accumulator `first`, or of two from
  /// there on, given offset(k) if codes are unsigned.
  [[nodiscard]] Value total(std::span<const Value> carried, size_t first, Value offset) const;
  [[nodiscard]] Value offset(Value k) const;
  /// Column and next: likewise the sums of all accumulators, vectors of 4 columns in order.
  [[nodiscard]] std::vector<Value> totals(std::span<const Value> carried, Value offset) const;
  /// Adds what `carried` holds of `k` values per column to the i32 at `sums`.
  void finish(std::span<const Value> carried, Value k, Value sums) const;

 private:
  [[nodiscard]] Value dot(Value sum, Value codes, Value weights) const;
  [[nodiscard]] Value pairs_added(Value codes) const;
  [[nodiscard]] Value dot_unsigned(Value sum, Value codes, Value weights) const;
  [[nodiscard]] std::vector<Value> column_totals(std::span<const Value> carried,
                                                 Value offset) const;
  [[nodiscard]] std::vector<Value> next_totals(std::span<const Value> carried) const;
  void add_to(Value sums, int64_t offset, Value value) const;

  Builder& b_;
  const Layout& layout_;
  std::optional<SumWeights> weights_;
  size_t vectors_;
};

}  // namespace tw
