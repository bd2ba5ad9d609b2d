// Panels as wide as vectors, packed by vectors of 16 bytes. In every group of k such a panel has a
// strip for each 16 bytes of the machine's vectors: what panels of the shortest vectors have. A
// panel of fixed size is one strip.
#pragma once

#include <functional>
#include <utility>
#include <vector>

#include "lower/pack_walk.h"

namespace tw {

/// Whether panels consist of strips, all alike.
bool has_strips(const Layout& layout);
/// A panel of the shortest vectors.
Layout strip_of(const Layout& layout);

/// Where rows and codes of a panel's strips are. Rows of a strip are neighbors; where columns share
/// bytes, those of one digit are, and the panel's columns of a digit stand together.
class Strips {
 public:
  Strips(Builder& b, const Layout& layout);

  [[nodiscard]] bool is_panel() const { return segments_ == no_value; }
  [[nodiscard]] const Layout& layout() const { return strip_; }
  /// From a strip's first row to the next one's, and likewise of its codes.
  [[nodiscard]] int64_t rows() const { return part_rows_; }
  [[nodiscard]] int64_t bytes() const { return piece_bytes_; }
  /// The rows are no neighbors.
  [[nodiscard]] bool are_split() const { return strip_.panel.fixed != part_rows_; }

  /// From neighboring rows to the next ones of a strip, if these are so far apart.
  [[nodiscard]] Value between(Value stride) const;
  /// Pointers to all rows of a strip.
  [[nodiscard]] std::vector<Value> rows(Value first, Value stride, Value between) const;

  /// Where the codes of so many groups of k are, of which the first one's begin there ...
  [[nodiscard]] std::vector<Value> groups(Value to, int64_t count) const;
  /// ... and a code, so far from the first one of a strip that is a panel.
  [[nodiscard]] std::pair<Value, int64_t> place(const std::vector<Value>& groups,
                                                int64_t offset) const;
  /// Behind so many groups.
  [[nodiscard]] Value behind(Value to, int64_t groups, const char* name) const;

  /// Memory that it needs for sums, and is told of before it packs.
  [[nodiscard]] int64_t scratch_bytes() const;
  void use(Value scratch) { own_sums_ = scratch; }
  /// Calls pack(sums), which adds to the sums of a strip's columns as if these were neighbors.
  /// `sums`: of its first one in the panel; none: there are none.
  void with_sums(Value sums, const std::function<void(Value sums)>& pack) const;

 private:
  /// Adds the i32 of a strip's columns to those of the panel, whose first one's is there.
  void add_columns(Value from, Value to) const;

  Builder& b_;
  Layout strip_;
  int64_t part_rows_, piece_bytes_;
  Value segments_ = no_value;       ///< strips of a panel; none: it is one
  Value group_, piece_ = no_value;  ///< bytes from a panel's group of k, or piece, to the next one
  Value own_sums_ = no_value;
};

}  // namespace tw
