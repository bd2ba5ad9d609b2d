// Rows of K or V as a cache keeps them: floats one after the other, or blocks of codes, each behind
// its scale. Of codes of four bits a byte has two, as the layout's order says.
#pragma once

#include "ir/builder.h"
#include "model/layout.h"

namespace tw {

class CachedRows {
 public:
  CachedRows(Builder& b, const Layout& rows);

  [[nodiscard]] int64_t block() const { return rows_.block; }

  /// Values that stand together: of codes a block, else a vector of f32.
  [[nodiscard]] int64_t together() const;

  /// From a row's first values to that one's, in bytes.
  [[nodiscard]] int64_t place(int64_t value) const;

  /// Of the first row, where its floats or its first codes are.
  Value first_values();

  /// Bytes of so many values, whole blocks.
  Value bytes(Value values);

  /// The scale of the block that has the value, in all lanes; of floats no_value.
  Value scale(Value first, int64_t value);

  /// A vector from that value on as f32, exactly: a code times a scale of f16 is one.
  Value values(Value first, int64_t value, Value scale, const std::string& name);

 private:
  [[nodiscard]] bool has_nibbles() const { return bits(rows_.element) == 4; }
  Value codes(Value first, int64_t value, const std::string& name);

  Builder& b_;
  const Layout& rows_;
  Value low_bits_ = no_value, zero_ = no_value;  ///< of nibbles: 15, and the code of 0 as f32
};

}  // namespace tw
