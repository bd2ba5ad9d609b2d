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

/// The f32 accumulators: values that loops carry, and memory.
class Totals {
 public:
  Totals(const Tile1& t, const TotalsRoom& room, std::vector<Value> carried)
      : t_(t), room_(room), carried_(std::move(carried)) {}

  /// What loops carry at first.
  static std::vector<Value> begin(const Tile1& t, const TotalsRoom& room) {
    Totals all(t, room, {});
    Value zero = no_value;
    for (size_t i = 0; i < all.count(); ++i) {
      if (zero == no_value || !all.in_memory(i)) {
        zero = t.b.op(OpCode::zero, {}, {}, name(i), Role::accumulator);
      }
      all.put(i, zero);
    }
    return all.carried_;
  }

  [[nodiscard]] size_t count() const {
    return static_cast<size_t>(t_.v.tile.m.fixed * t_.vectors());
  }
  /// Whether registers are few.
  [[nodiscard]] bool use_memory() const { return room_.memory.pointer != no_value; }
  [[nodiscard]] const std::vector<Value>& carried() const { return carried_; }
  [[nodiscard]] Value operator[](size_t i) const {
    if (!in_memory(i)) return carried_[i];
    return t_.b.op(OpCode::load, {room_.memory.pointer}, {.offset = place(i)}, name(i),
                   Role::accumulator);
  }
  /// Adds a product to one.
  void add(size_t i, Value a, Value b) {
    put(i, t_.b.op(OpCode::fma, {a, b, (*this)[i]}, {}, name(i), Role::accumulator));
  }

 private:
  static std::string name(size_t i) { return fmt::format("f_{}", i); }
  [[nodiscard]] bool in_memory(size_t i) const { return use_memory() && i >= room_.in_registers; }
  [[nodiscard]] Length place(size_t i) const {
    return room_.memory.offset +
           t_.b.isa().vector_bytes * static_cast<int64_t>(i - room_.in_registers);
  }
  void put(size_t i, Value value) {
    if (in_memory(i)) {
      t_.b.op(OpCode::store, {room_.memory.pointer, value}, {.offset = place(i)});
    } else {
      carried_.resize(std::max(carried_.size(), i + 1), no_value);
      carried_[i] = value;
    }
  }

  const Tile1& t_;
  TotalsRoom room_;
  std::vector<Value> carried_;
};

/// What a multiplier makes of rows' values, as many as outputs: of all rows together; or, where
/// registers are few, of one when its turn comes.
class RowValues {
 public:
  using Make = std::function<std::vector<Value>(const std::vector<Place>&)>;
  RowValues(std::vector<Place> rows, Make make, const Totals& totals)
      : rows_(std::move(rows)), make_(std::move(make)), one_by_one_(totals.use_memory()) {
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
