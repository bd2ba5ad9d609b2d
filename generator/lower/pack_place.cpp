#include "lower/pack_place.h"

#include <cstdlib>

namespace tw {

FieldAxes path_of(const Part& root, FieldKind kind) {
  FieldAxes path = flat(root, kind, 0);
  if (root.over->argument) path.axes.insert(path.axes.begin(), *root.over);
  return path;
}

FieldAxes path_in_panel(const Layout& layout) {
  FieldAxes path = path_of(axes(layout), FieldKind::data);
  if (layout.block == 0) path.base = 0;
  return path;
}

FieldAxes path_below(FieldAxes path, int64_t end) {
  std::erase_if(path.axes, [&](const Axis& axis) {
    return axis.dim == Dim::k && axis.step.at({1, 1}) >= end;
  });
  return path;
}

Value Given::length(Length length) const {
  if (length.is_fixed()) return b.constant(length.fixed);
  return times(b, segments, length.vl + length.svl);
}

Value remainder(const Given& given, Value x, Length of) {
  Builder& b = given.b;
  if (of.is_fixed() && (of.fixed & (of.fixed - 1)) == 0) {
    return b.op(OpCode::iand_imm, {x}, {.imm = of.fixed - 1});
  }
  const Value divisor = given.length(of);
  return b.op(OpCode::isub, {x, product(b, {b.op(OpCode::idiv, {x, divisor}), divisor})});
}

Value digit(const Given& given, const Axis& axis, bool is_coarsest, Value coordinate) {
  const bool single = axis.step == Length{1};
  const Value steps =
      single ? coordinate : given.b.op(OpCode::idiv, {coordinate, given.length(axis.step)});
  return is_coarsest ? steps : remainder(given, steps, axis.extent);
}

Reach place(const Given& given, const FieldAxes& path, Dim dim, Value coordinate) {
  Builder& b = given.b;
  Length coarsest = 0;
  for (const Axis& axis : path.axes) {
    if (axis.dim == dim && axis.step.at({3, 3}) > coarsest.at({3, 3})) coarsest = axis.step;
  }
  Reach place;
  const auto add = [&](Value more) {
    place.bytes = place.bytes == no_value ? more : plus(b, {place.bytes, more});
  };
  for (const Axis& axis : path.axes) {
    if (axis.dim != dim) continue;
    const Value steps = digit(given, axis, axis.step == coarsest, coordinate);
    if (axis.argument) {
      add(product(b, {steps, given.stride}));
    } else if (axis.stride.divisible(8)) {
      add(product(b, {steps, given.length(axis.stride.divided(8))}));
    } else if (axis.extent != rest && axis.extent.fixed * std::abs(axis.stride.fixed) == 8) {
      const bool backwards = axis.stride.fixed < 0;
      const int64_t last = axis.extent.fixed - 1;
      place.code = backwards ? b.op(OpCode::isub, {b.constant(last), steps}) : steps;
    } else {
      const int64_t codes = 8 / axis.stride.fixed;
      add(over(b, steps, codes));
      place.code = remainder(given, steps, codes);
    }
  }
  return place;
}

Reach moved(const Given& given, Value start, const FieldAxes& path, Value n, Value k,
            const char* name) {
  Builder& b = given.b;
  Reach at = place(given, path, Dim::n, n);
  const Length base = path.base.divided(8);
  const Value first = base.is_fixed() ? b.add(start, base) : plus(b, {start, given.length(base)});
  at.bytes = at.bytes == no_value ? first : plus(b, {first, at.bytes});
  FieldAxes far = path;  // only with the digit of k that has no end
  std::erase_if(far.axes, [](const Axis& axis) { return axis.extent != rest; });
  const Value more = place(given, far, Dim::k, k).bytes;
  if (more != no_value) at.bytes = plus(b, {at.bytes, more}, name);
  return at;
}

Reach at_k(const Given& given, const Reach& row, const FieldAxes& path, Value k) {
  Reach at = place(given, path, Dim::k, k);
  at.bytes = at.bytes == no_value ? row.bytes : plus(given.b, {row.bytes, at.bytes});
  if (at.code == no_value) at.code = row.code;
  return at;
}

}  // namespace tw
