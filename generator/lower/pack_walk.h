// What whole packers have in common: panels, the fields beside the codes, copies of what lies at an
// edge.
#pragma once

#include <functional>
#include <string>

#include "ir/builder.h"
#include "model/sources.h"

namespace tw {

/// Two Values in braces, which C++ evaluates one after the other; arguments it evaluates in any
/// order, so that what a generator writes would depend on the compiler that built it.
struct Two {
  Value x, y;
};
struct Choice {
  Value given, yes, no;
};

// Sums and products of numbers, shorter to write.
inline Value plus(Builder& b, Two two, const std::string& name = "") {
  return b.op(OpCode::iadd, {two.x, two.y}, {}, name);
}
inline Value product(Builder& b, Two two, const std::string& name = "") {
  return b.op(OpCode::imul, {two.x, two.y}, {}, name);
}
/// By a number that is no Value.
inline Value times(Builder& b, Value x, int64_t y, const std::string& name = "") {
  return y == 1 ? x : product(b, {x, b.constant(y)}, name);
}
/// Rounded down.
inline Value over(Builder& b, Value x, int64_t y, const std::string& name = "parts") {
  return y == 1 ? x : b.op(OpCode::idiv, {x, b.constant(y)}, {}, name);
}
inline Value smaller(Builder& b, Two two, const std::string& name = "fewer") {
  return b.op(OpCode::imin, {two.x, two.y}, {}, name);
}
/// x - y, or 0 where y is more.
inline Value less(Builder& b, Two two, const std::string& name = "left") {
  return b.op(OpCode::isub_sat, {two.x, two.y}, {}, name);
}
/// `yes` if what is given is not 0.
inline Value choose(Builder& b, Choice choice, const std::string& name = "chosen") {
  return b.op(OpCode::if_null, {choice.given, choice.no, choice.yes}, {}, name);
}

/// 16-byte parts of the vectors that the caller packs for.
inline Value segments_of(Builder& b, const std::string& name = "") {
  return b.op(OpCode::ishr, {b.arg(ArgField::pack_vector_bytes)}, {.imm = 4}, name);
}
/// A length, in units of the vectors that the caller packs for.
Value length(Builder& b, Length length, const std::string& name = "length");

/// `at`, so many bytes on.
Value behind(Builder& b, Value at, Length bytes, const std::string& name = "");

/// A constant that has a name: a loop's first value.
inline Value number(Builder& b, int64_t value, const std::string& name) {
  return b.op(OpCode::constant, {}, {.imm = value}, name);
}
/// The next multiple.
Value rounded_up(Builder& b, Value x, int64_t multiple, const std::string& name = "rounded");
/// k with its padding.
Value padded_k(Builder& b, const Layout& layout);

/// Bytes of so many values that stand one after the other in a source, the last one not counted if
/// it has but a part of one.
Value row_bytes(Builder& b, const Layout& layout, Value values);
/// Bytes of so many values of each row of a panel (columns, on the rhs).
Value codes_bytes(Builder& b, const Layout& layout, Value values);

/// The largest panel that any machine's vectors ask for.
int64_t most_rows(const Layout& layout);

/// One of the panels between args->row_begin and args->row_end, or some together.
struct Panel {
  Value row;   ///< its first one
  Value left;  ///< from there on that are to be packed
  Value rows;  ///< of these, those that it has room for
  Value to;    ///< where it is packed
};
void for_panels(Builder& b, const Layout& layout, const std::function<void(const Panel&)>& body,
                int64_t at_once = 1);

/// Where a panel's codes and sums are.
struct PanelPlaces {
  Value codes = no_value, sums = no_value, scales = no_value;
};
PanelPlaces panel_places(Builder& b, const Layout& layout, Value padded, Value to);

/// Writes the fields without blocks beside the codes, sums as zeros. Returns where those are.
PanelPlaces write_fields(Builder& b, const Layout& layout, Value padded, const Panel& panel);

/// What a source adds to codes: what it says, or 8 where the caller says that nibbles are unsigned.
Value given_offset(Builder& b, const Layout& layout, const Source& source);
/// A byte that holds a number in the bits of each of its codes.
int64_t in_every_code(const Layout& layout, int64_t number);
/// What a source byte holds where there are no codes.
Value no_codes(Builder& b, const Layout& layout, const Source& source);
/// Bits of a source byte that differ from what the layout wants, as a vector; none: floats.
Value flip_bits(Builder& b, const Layout& layout, const Source& source);

/// Copies so many codes that begin with a byte; what is left of the last one becomes code 0.
/// most_bytes: no more than these; 0: any number.
void copy_codes(Builder& b, const Layout& layout, Value to, Value from, Value codes, Value nothing,
                int64_t most_bytes = 0);

}  // namespace tw
