#include "lower/pack_strips.h"

#include "lower/pack_rhs.h"

namespace tw {
namespace {

bool shares_bytes(const Layout& layout) {
  return layout.order.pair == NibblePair::column;
}

}  // namespace

bool has_strips(const Layout& layout) {
  return layout.panel.is_fixed() || layout.panel.fixed == 0;
}

Layout strip_of(const Layout& layout) {
  Layout strip = layout;
  strip.panel = layout.panel.fixed + layout.panel.vl + layout.panel.svl;
  return strip;
}

Strips::Strips(Builder& b, const Layout& layout)
    : b_(b),
      strip_(strip_of(layout)),
      part_rows_(strip_.panel.fixed),
      piece_bytes_(group_bytes(strip_)),
      group_(no_value) {
  if (layout.panel.is_fixed()) return;
  segments_ = segments_of(b, "segments");
  group_ = codes_bytes(b, layout, b.constant(group_k(layout)));
  if (!shares_bytes(layout)) return;
  piece_bytes_ = 16;
  part_rows_ = piece_bytes_ / layout.order.kr;
  piece_ = times(b, segments_, piece_bytes_, "piece");
}

Value Strips::between(Value stride) const {
  if (!are_split()) return no_value;
  return product(b_, {segments_, times(b_, stride, part_rows_)}, "between");
}

std::vector<Value> Strips::rows(Value first, Value stride, Value between) const {
  if (!are_split()) return strided(b_, first, stride, 0, strip_.panel.fixed, "row");
  std::vector<Value> all;
  for (int64_t row = 0; row < strip_.panel.fixed; row += part_rows_) {
    const std::vector<Value> part = strided(b_, first, stride, 0, part_rows_, "row");
    all.insert(all.end(), part.begin(), part.end());
    if (row + part_rows_ < strip_.panel.fixed) first = plus(b_, {first, between}, "row");
  }
  return all;
}

std::vector<Value> Strips::groups(Value to, int64_t count) const {
  if (is_panel()) return {to};
  std::vector<Value> all;
  for (const Value group : strided(b_, to, group_, 0, count, "group")) {
    const int64_t pieces = group_bytes(strip_) / piece_bytes_;
    const std::vector<Value> its =
        pieces == 1 ? std::vector<Value>{group} : strided(b_, group, piece_, 0, pieces, "piece");
    all.insert(all.end(), its.begin(), its.end());
  }
  return all;
}

std::pair<Value, int64_t> Strips::place(const std::vector<Value>& groups, int64_t offset) const {
  if (is_panel()) return {groups[0], offset};
  return {groups[static_cast<size_t>(offset / piece_bytes_)], offset % piece_bytes_};
}

Value Strips::behind(Value to, int64_t groups, const char* name) const {
  if (is_panel()) return b_.add(to, groups * piece_bytes_, name);
  return plus(b_, {to, times(b_, group_, groups)}, name);
}

int64_t Strips::scratch_bytes() const {
  return are_split() ? 4 * strip_.panel.fixed : 0;
}

void Strips::with_sums(Value sums, const std::function<void(Value sums)>& pack) const {
  if (!are_split() || sums == no_value) return pack(sums);
  b_.op(OpCode::fill_bytes, {own_sums_, b_.constant(0), b_.constant(scratch_bytes())});
  pack(own_sums_);
  add_columns(own_sums_, sums);
}

void Strips::add_columns(Value from, Value to) const {
  const Value parts = b_.constant(strip_.panel.fixed / part_rows_);
  const Value apart = times(b_, segments_, 4 * part_rows_, "apart");
  b_.loop("part", parts, {from, to}, [&](const std::vector<Value>& at) {
    for (int64_t i = 0; i < part_rows_; ++i) {
      const Builder::With with{.bits = 32, .offset = 4 * i};
      const Value more = b_.op(OpCode::load_scalar, {at[0]}, with, "more");
      const Value sum = b_.op(OpCode::load_scalar, {at[1]}, with, "sum");
      b_.op(OpCode::store_scalar, {at[1], plus(b_, {sum, more})}, with);
    }
    return std::vector<Value>{b_.add(at[0], 4 * part_rows_, "from"),
                              plus(b_, {at[1], apart}, "to")};
  });
}

}  // namespace tw
