// What the numbers of an operand mean. A new type is a row in format.cpp.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tw {

/// e8m0: 2^(byte - 127), as the OCP microscaling formats have scales.
/// e5m3: bits 7 to 14 of an f16, of no sign; sources have scales so, layouts that f16.
/// e4m3 and e5m2: floats of 8 bits, those of the OCP formats; only as weights with scales.
enum class ElementType { i1, i2, i4, i8, i16, i32, e8m0, e5m3, e4m3, e5m2, f16, bf16, f32 };
std::string_view name(ElementType type);
int bits(ElementType type);

/// Which values share a scale.
enum class Granularity { none, tensor, row, channel, block };

/// What codes of 4 bits, or 2, stand for, where not for themselves.
struct CodeTable {
  std::string_view name;  ///< "iq4"
  std::array<int8_t, 16> values;
  float unit;          ///< that the values are numbers of, a power of two
  bool given = false;  ///< each call brings its own (ArgField::lookup), and `values` are an example
};
/// Added to a table's values it makes them unsigned bytes: a power of two.
int unsigned_offset(const CodeTable& table);

struct Format {
  std::string_view name;  ///< "qai8dx", "qsi4cx", "f32": as in family names
  ElementType element;
  Granularity scales;
  bool has_zero_point;        ///< asymmetric; weights: a float with each scale, in units of codes
  bool quantized_on_the_fly;  ///< an LHS that its packer quantizes from floats
  int block;                  ///< default block length (values along k), 0: no blocks
  /// A block has its lowest code's value beside its scale: minimum + scale * (code - lowest code).
  bool has_minimums = false;
  /// Values of k whose blocks share the steps that their scales and minimums are whole numbers of,
  /// or, without steps, just stand together in files; 0: each block is on its own.
  int super_block = 0;
  /// Bits of a code above those of the element, in a plane of their own.
  int top_bits = 0;
  const CodeTable* table = nullptr;           ///< null: codes are numbers
  ElementType scale_type = ElementType::f16;  ///< of blocks, unless a spec says another
  /// The format whose codes these are as whole bytes, kernels of whose families may take them so.
  std::string_view bytes_of = {};
  bool float_scales = false;  ///< of super-blocks: those have no steps
};

/// Whether scales are numbers of steps that super-blocks have.
bool has_steps(const Format& format);

/// Whether kernels for such weights are told what codes stand for.
bool takes_table(const Format& format);
int code_bits(const Format& format);
/// That whose codes are those of `format` as whole bytes; null: there is none.
const Format* as_bytes(const Format& format);
/// That whose codes have 8 bits and mean the same beside a column's scale; null: there is none.
const Format* with_wide_codes(const Format& format);
/// Whether columns have the sum over blocks of scale * (sum of the block's codes) beside them.
bool keeps_block_sums(const Format& format);
/// The code from which sums count: of codes around zero what zero is stored as, half of all there
/// are. Codes above minimums have none; they take that of the element, so that activations begin
/// with the same for all of them.
int middle_code(const Format& format);

/// Floats, without scales: multiplied as they are, sums are floats.
bool is_float(const Format& format);
bool is_float(ElementType type);
/// Floats of 8 bits, which have scales beside them as codes do.
bool is_byte_float(ElementType type);
/// Of 8 bits or more: no codes, whose sums weights keep.
bool holds_floats(ElementType type);
/// Activations that are codes already, of one scale and one zero point. Columns of the weights have
/// both in their scales and their bias, so that nothing but the codes is packed; outputs are codes,
/// too.
bool is_static(const Format& format);

/// Activations that are packed: codes, and floats that are of another type than the sums; others
/// lie as their user keeps them, or in panels where accumulator tiles want those.
bool is_packed(const Format& lhs, ElementType sums = ElementType::f32);

/// Activations and weights, codes in blocks, that are multiplied as f16: what a code is worth, with
/// its scale, is rounded to that.
bool multiplies_as_halves(const Format& lhs, const Format& rhs);
/// Are there kernels for activations of one format and weights of the other?
bool can_multiply(const Format& lhs, const Format& rhs);
/// "f32", "qai8": outputs of that type, in names and specs.
std::string_view output_name(ElementType dst);
/// "f32", "s8" (as in C): what rows of activations hold, in names and specs.
std::string_view source_name(ElementType values);
/// What a kernel computes: products of matrices, depthwise convolutions, parts of attention,
/// products of rows that pointers tell, chunk by chunk of k, floats or wider codes of packed codes,
/// or a part of k of a product of matrices: sums of codes that are added to those in dst (i32), or
/// the last of them, which become outputs there; or products by what a decoder made of codes in
/// blocks.
enum class Operation { matmul, depthwise, attention, indirect, decode, part, decoded };
/// "matmul_clamp_f32": f32 out; "matmul_acc_clamp_f32": added to what dst holds;
/// "dwconv_clamp_f32", "imatmul_clamp_f32". Names of families and kernels begin so.
std::string operation_name(ElementType dst, bool accumulate,
                           Operation operation = Operation::matmul);

const Format* find_format(std::string_view name);
const std::vector<Format>& formats();

}  // namespace tw
