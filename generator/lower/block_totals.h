// What blocks add up to, and what each block's sums of a row are scaled by.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "lower/tile.h"

namespace tw {

/// The f32 accumulators: values that loops carry, or memory.
class Totals {
 public:
  Totals(const Tile1& t, Place memory, std::vector<Value> carried)
      : t_(t), memory_(memory), carried_(std::move(carried)) {}

  /// What loops carry at first.
  static std::vector<Value> begin(const Tile1& t, Place memory) {
    Totals all(t, memory, {});
    Value zero = no_value;
    for (size_t i = 0; i < all.count(); ++i) {
      if (zero == no_value || !all.in_memory()) {
        zero = t.b.op(OpCode::zero, {}, {}, name(i), Role::accumulator);
      }
      all.put(i, zero);
    }
    return all.carried_;
  }

  [[nodiscard]] size_t count() const {
    return static_cast<size_t>(t_.v.tile.m.fixed * t_.vectors());
  }
  [[nodiscard]] bool in_memory() const { return memory_.pointer != no_value; }
  [[nodiscard]] const std::vector<Value>& carried() const { return carried_; }
  [[nodiscard]] Value operator[](size_t i) const {
    if (!in_memory()) return carried_[i];
    return t_.b.op(OpCode::load, {memory_.pointer}, {.offset = place(i)}, name(i),
                   Role::accumulator);
  }
  /// Adds a product to one.
  void add(size_t i, Value a, Value b) {
    put(i, t_.b.op(OpCode::fma, {a, b, (*this)[i]}, {}, name(i), Role::accumulator));
  }

 private:
  static std::string name(size_t i) { return fmt::format("f_{}", i); }
  [[nodiscard]] Length place(size_t i) const {
    return memory_.offset + t_.b.isa().vector_bytes * static_cast<int64_t>(i);
  }
  void put(size_t i, Value value) {
    if (in_memory()) {
      t_.b.op(OpCode::store, {memory_.pointer, value}, {.offset = place(i)});
    } else {
      carried_.resize(std::max(carried_.size(), i + 1), no_value);
      carried_[i] = value;
    }
  }

  const Tile1& t_;
  Place memory_;
  std::vector<Value> carried_;
};

/// What a multiplier makes of rows' values, as many as outputs: of all rows together; or, where
/// registers are few, of one when its turn comes.
class RowValues {
 public:
  using Make = std::function<std::vector<Value>(const std::vector<Place>&)>;
  RowValues(std::vector<Place> rows, Make make, const Totals& totals)
      : rows_(std::move(rows)), make_(std::move(make)), one_by_one_(totals.in_memory()) {
    if (!one_by_one_) values_ = make_(rows_);
  }

  Value operator[](size_t i) {
    if (one_by_one_ && i == values_.size()) {
      const std::vector<Value> row = make_({rows_[made_++]});
      values_.insert(values_.end(), row.begin(), row.end());
    }
    return values_[i];
  }

 private:
  std::vector<Place> rows_;
  Make make_;
  bool one_by_one_;
  size_t made_ = 0;  ///< rows
  std::vector<Value> values_;
};

}  // namespace tw
