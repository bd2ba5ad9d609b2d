// Codes as a source has them: unsigned numbers, several of which may share a byte.
#pragma once

#include <algorithm>

#include "lower/pack_place.h"
#include "lower/pack_rhs.h"

namespace tw {

class SourceCodes {
 public:
  SourceCodes(Builder& b, const Layout& layout, const Source& source)
      : b_(b),
        type_(field_axes(source.axes, FieldKind::data).type),
        negated_(field_axes(source.axes, FieldKind::data).negated),
        offset_(is_float(type_) ? no_value : offset(given_offset(b, layout, source))) {}

  [[nodiscard]] ElementType type() const { return type_; }
  [[nodiscard]] int64_t width() const { return bits(type_); }
  [[nodiscard]] int64_t half() const { return int64_t{1} << (width() - 1); }

  /// A code's bits of x.
  [[nodiscard]] Value code_bits(Value x, const char* name) const {
    return b_.op(OpCode::iand_imm, {x}, {.imm = 2 * half() - 1}, name);
  }

  /// What `of_code` makes for a code of a byte, that of number `which`. They are numbered from
  /// `first` on.
  template <typename OfCode>
  [[nodiscard]] Value chosen(Value which, int64_t first, int64_t count,
                             const OfCode& of_code) const {
    if (count == 1) return of_code(first);
    const int64_t half = count / 2;
    const Value upper = chosen(which, first + half, half, of_code);
    const Value bit = number_bit(which, half, 8 / width());
    return choose(b_, {bit, upper, chosen(which, first, half, of_code)}, "given");
  }
  /// A bit of a number below `end`.
  [[nodiscard]] Value number_bit(Value number, int64_t bit, int64_t end) const {
    return 2 * bit == end && bit == 1 ? number : b_.op(OpCode::iand_imm, {number}, {.imm = bit});
  }

  /// The code of that number in a byte, as it stands there; bits above it are left.
  [[nodiscard]] Value in_byte(Value byte, Value number) const {
    const auto of_code = [&](int64_t number) {
      if (number == 0) return code_bits(byte, "");
      return b_.op(OpCode::ishr, {byte}, {.imm = number * width()});
    };
    return chosen(number, 0, 8 / width(), of_code);
  }

  /// A value; a code as an unsigned number, which is half() more.
  [[nodiscard]] Value load(const Reach& from) const {
    const int64_t bits = std::max<int64_t>(width(), 8);
    const Value byte =
        b_.op(OpCode::load_scalar, {from.bytes}, {.bits = static_cast<int>(bits)}, "value");
    if (is_float(type_)) return byte;
    const Value stored = from.code == no_value ? byte : in_byte(byte, from.code);
    const Value code =
        negated_ ? b_.op(OpCode::isub, {offset_, stored}) : plus(b_, {stored, offset_});
    return code_bits(code, "code");
  }

 private:
  [[nodiscard]] Value offset(Value given) const {
    const Value middle = b_.constant(half());
    if (negated_) return plus(b_, {middle, given}, "offset");
    return b_.op(OpCode::isub, {middle, given}, {}, "offset");
  }

  Builder& b_;
  ElementType type_;
  bool negated_;
  /// What makes a code of the source an unsigned number, in as many bits; or what it is taken from.
  Value offset_;
};

}  // namespace tw
