// Where the values of an operand lie, as axes: packed operands and the sources that packers read,
// told alike. Addresses are in bits.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "model/layout.h"

namespace tw {

/// n: rows of an lhs, columns of an rhs. copy: the same value again.
enum class Dim { n, k, copy };

/// One digit of a coordinate, coordinate / step % extent; each of its steps moves the address by
/// the stride.
struct Axis {
  Dim dim = Dim::n;
  Length extent = 0;  ///< rest: as far as the operand goes
  Length step = 1;
  Length stride = 0;      ///< negative where the digit counts backwards
  bool argument = false;  ///< the stride is the caller's, Sizes::stride
};
constexpr Length rest{};

/// A field of a Part, or the values of a source.
struct FieldAxes {
  FieldKind kind = FieldKind::data;
  ElementType type = ElementType::i8;
  Length base;             ///< of the address where all digits are 0
  std::vector<Axis> axes;  ///< slowest first
  /// Stored is value + offset + the sum of digit * stride.
  int offset = 0;
  std::vector<Axis> offset_axes;
  /// Stored is offset - value instead, of a float the negative one: codes that count down from
  /// their offset, and scales beside such.
  bool negated = false;
};

/// Members one after the other; with `over`, again for each step of that axis, whose stride is the
/// size of all members unless it is an argument.
struct Part {
  struct Member;
  std::optional<Axis> over;
  std::vector<Member> members;
};
struct Part::Member : std::variant<FieldAxes, Part> {
  using std::variant<FieldAxes, Part>::variant;
};

/// The panels of a layout, one after the other.
Part axes(const Layout& layout);

/// "n*@8 { k*@32 { data i4 [k8@4 n4@1 k4@1 -n2@4] +8*n2@4 | scales f16 [n8@1] } | bias f32 [n8@1]
/// }": "n2@4" is 2 steps of 4 columns; "-", counted backwards. Strides follow from what is inside.
std::string to_string(const Part& part);

/// Throws std::invalid_argument, with the text, unless each value has a place of its own: digits of
/// a dimension tile it, none twice, and no two bits share an address.
void check(const Part& part);

/// The field of that kind, and before its own axes those of all parts around it but the outermost
/// one, where whose first repetition begins its base counts from.
FieldAxes flat(const Part& part, FieldKind kind, int64_t k);

/// The field of that kind; null: there is none.
const FieldAxes* find_field(const Part& part, FieldKind kind);
/// That field. Throws std::invalid_argument if there is none.
const FieldAxes& field_axes(const Part& part, FieldKind kind);

struct Coordinates {
  int64_t n = 0, k = 0, copy = 0;
  friend bool operator==(const Coordinates&, const Coordinates&) = default;
};

/// What addresses depend on besides: k with its padding, the length of vectors, and the stride that
/// is the caller's.
struct Sizes {
  int64_t k = 0;
  VectorLength vl;
  int64_t stride = 0;
};

/// Addresses of a field's values, from the first panel's start or the source's.
class FieldPlaces {
 public:
  FieldPlaces(const Part& part, FieldKind kind, const Sizes& sizes);
  [[nodiscard]] int64_t at(const Coordinates& value) const;

 private:
  int64_t base_;
  std::vector<Axis> axes_;  ///< the outermost part's among them
  VectorLength vl_;
};
int64_t place(const Part& part, FieldKind kind, const Coordinates& at, const Sizes& sizes);
/// Stored is value + offset.
int64_t offset(const FieldAxes& field, const Coordinates& at, VectorLength vl);

/// Bits before a field of the first repetitions of all parts.
Length start(const Part& part, FieldKind kind, int64_t k);
/// Bits of one repetition of a part, or of a field.
Length size(const Part& part, int64_t k);
Length size(const FieldAxes& field, int64_t k);

}  // namespace tw
