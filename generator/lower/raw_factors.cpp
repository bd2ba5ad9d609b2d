// Powers of two that raw bytes bring into what sums of codes are multiplied by.
#include <bit>

#include "lower/splat.h"
#include "lower/tile.h"

namespace tw {

void RawFactors::prepare(const Tile1& t) {
  if (!halves_) return;
  const auto has = [&](FieldKind kind) { return field_index(t.v.rhs, kind) >= 0; };
  const auto half_codes = static_cast<float>(middle_code(*t.v.family.rhs));
  std::vector<float> all;
  if (has(FieldKind::zero_points)) all.push_back(1);
  if (has(FieldKind::minimums)) all.push_back(-half_codes);
  if (has(FieldKind::minimums) && !has(FieldKind::minimum_steps)) all.push_back(-1);
  for (const float by : all) made_.emplace(by, (*this)(t, by).front());
}

std::vector<Value> RawFactors::operator()(const Tile1& t, float by) const {
  const auto count = static_cast<size_t>(t.vectors());
  const auto splat = [&](float x) {
    return splat32(t.b, std::bit_cast<uint32_t>(x), "zero_factor", Role::mask);
  };
  if (const auto found = made_.find(by); found != made_.end())
    return std::vector<Value>(count, found->second);
  const Value high = by == 1 && !halves_ ? no_value : splat(2 * by), low = splat(by / 8);
  if (halves_) {
    return std::vector<Value>(
        count, t.b.op(OpCode::zip_lo, {high, low}, {.bits = 64}, "zero_factor", Role::mask));
  }
  std::vector<Value> all;
  for (size_t j = 0; j < count; ++j) all.push_back(j % 2 == 0 ? high : low);
  return all;
}

}  // namespace tw
