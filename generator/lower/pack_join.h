// Codes whose bits lie in two places of a source, put together to whole bytes.
#pragma once

#include <functional>
#include <vector>

#include "lower/pack_walk.h"

namespace tw {

/// Of the codes of one block of a source.
class CodeJoiner {
 public:
  CodeJoiner(Builder& b, const Layout& layout, const Source& source);

  /// Where the ISA puts vectors of them together.
  static bool possible(const Source& source, const Isa& isa);

  /// Rows of the bytes that it makes, block by block.
  static Source rows(const Layout& layout);

  /// One after the other: calls store(k, byte) for all of the block that begins there.
  void each(Value from, const std::function<void(Value k, Value byte)>& store) const;
  /// Vectors of them, from there to where they are to stand in the order of k.
  void vectors(Value from, Value to) const;

 private:
  /// Neighbors whose bits stand in neighboring bytes, at the same place in those.
  struct Run {
    int64_t k;
    int64_t low, top;  ///< bits from the block's start
  };
  [[nodiscard]] Value vector_of(Value from, const Run& run, int64_t first) const;

  Builder& b_;
  int64_t low_bits_, top_bits_;
  int64_t offset_;  ///< of what the layout keeps, from the number that all bits make
  int64_t length_;  ///< of a run
  std::vector<Run> runs_;
};

}  // namespace tw
