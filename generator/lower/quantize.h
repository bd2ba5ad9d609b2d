// Rows and blocks of floats become codes: their ranges, how they are quantized, the codes.
#pragma once

#include <functional>
#include <vector>

#include "ir/builder.h"
#include "lower/pack.h"

namespace tw {

/// Floats that one step of code takes, of `together` that are quantized alike. Of plain C one, so
/// that compilers see a loop that they can vectorize.
int64_t quantize_step(const Isa& isa, int64_t together);
/// The smaller of two floats that are no NaNs.
OpCode minimum_of_numbers(const Isa& isa);
/// Floats that a step of quantize_row() takes.
int64_t range_step(const Isa& isa);

/// code = round(clamp(x * factor)) + zero_point, which never leaves int8 and equals clamping
/// afterwards; x = (code - zero_point) * scale. 32 bits each; the zero point is an i32.
enum class QuantizeParameter { factor, lowest, highest, zero_point, scale, count };

/// Parameters of several rows or blocks in memory of the Program's own: an array for each
/// QuantizeParameter.
struct Parameters {
  Value first;    ///< where one row's or block's factor is
  int64_t apart;  ///< bytes from a parameter to the next one

  /// Bytes from array to array for so many; vectors are stored whole, from each place on.
  static int64_t stride(const Isa& isa, int64_t most) { return 4 * (most + isa.lanes32()); }
  [[nodiscard]] int64_t offset(QuantizeParameter which) const {
    return static_cast<int64_t>(which) * apart;
  }
};

/// One vector for each QuantizeParameter, lane by lane, stored from `to.first` on.
/// Of blocks, symmetric, codes -127 to 127, from the largest magnitude: infinite where a value is
/// infinite or a NaN; then codes are 0 and the scale is a NaN, as the row's outputs will be. Values
/// that are all below 2^-100 count as zeros: so every factor is finite, and scales are far from
/// denormal numbers. Factors of either kind differ in their last bit only.
enum class BlockFactor {
  of_largest,       ///< 127 / largest
  inverse_of_scale  ///< 1 / (largest / 127), as KleidiAI has it
};
void store_block_parameters(Builder& b, const Parameters& to, Value largest, BlockFactor rule);

/// What a field keeps of a row's parameters: its scale, or its zero point, negated.
Value kept_parameter(Builder& b, const Parameters& how, FieldKind kind);

/// Makes codes, with the same parameters in all lanes.
class Quantizer {
 public:
  Quantizer(Builder& b, const Parameters& parameters, Rounding rounding);
  [[nodiscard]] Value code(Value x) const;  ///< i32 lanes

 private:
  [[nodiscard]] bool by_adding() const;
  Builder& b_;
  Rounding rounding_;
  Value factor_, lowest_, highest_, zero_point_, base_ = no_value;
};

/// Vectors of values of type `from`, as f32.
std::vector<Value> load_floats(Builder& b, Value pointer, int64_t vectors, ElementType from);

/// i32 lanes as codes of `element`, in order.
void store_codes(Builder& b, Value pointer, const std::vector<Value>& codes, ElementType element);

using Combine = std::function<Value(Value, Value)>;
/// All of `values` combined, lane by lane.
Value combined(std::vector<Value> values, const Combine& combine);
/// All 32-bit lanes of x combined, in every lane.
Value across(Builder& b, Value x, const Combine& combine);

/// Memory that is walked in steps. What is left behind the last whole step is done in `tail`.
struct Steps {
  Value from, tail;
  int64_t bytes;  ///< of a step
};

/// Calls body({pointers, carried...}), which returns what is carried on, for steps of `step` values
/// of `count`: first whole ones from `from` on, then one from `tail`, if there is something left.
/// Returns what is carried in the end.
std::vector<Value> for_steps(Builder& b, Value count, int64_t step,
                             const std::vector<Steps>& memory, const std::vector<Value>& carried,
                             const Builder::Body& body);

/// Floats of one type that lie one after the other.
struct Floats {
  Value first;
  ElementType type;

  [[nodiscard]] int64_t bytes(int64_t count) const { return count * bits(type) / 8; }
};

/// `count` floats; those behind the last whole step are copied to `tail`, with zeros behind them.
Steps float_steps(Builder& b, const Floats& row, Value count, int64_t step, Value tail);

/// The parameters of `count` floats; `tail` is memory for a step of them.
void quantize_row(Builder& b, const Floats& row, Value count, Value tail, const Parameters& to);

}  // namespace tw
