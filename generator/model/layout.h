// How a packed operand lies in memory. The single source: packers, sizes, offsets, the kernel's
// loads, the id and the documentation are all derived from a Layout.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "model/format.h"
#include "model/length.h"

namespace tw {

enum class Side { lhs, rhs };

/// What a field holds, for each row (lhs) or column (rhs) of a panel.
enum class FieldKind {
  data,         ///< the codes, or the floats themselves
  tops,         ///< bits of the codes above those in `data`
  sums,         ///< factor * (sum of the codes over k, of the panel or of the block), i32; f32:
                ///< the sum over blocks of scale * (sum of the block's codes), on the lhs a
                ///< block's alone
  zero_points,  ///< NEGATED zero point, i32 (as KleidiAI keeps it); of columns as it is, f32;
                ///< of their blocks of the scales' type
  scales,       ///< f32, f16, bf16 or e8m0; of super-blocks numbers of 8 bits
  minimums,     ///< what a block's lowest code is worth, to which scale * (code - lowest code) is
                ///< added; without, a code is worth scale * code
  offsets,      ///< what a block's code 0 is worth, to which scale * code is added: minus its zero
                ///< point times its scale
  bias,  ///< f32; i32: of static activations, less their zero point times the column's sum of
         ///< codes
  scale_steps,    ///< of super-blocks: a block's scale is so many times the number kept of it ...
  minimum_steps,  ///< ... and its minimum minus so many times
  scale_tops,     ///< of sources: bits above those in `scales` ...
  minimum_tops    ///< ... and in `minimums`
};

std::string_view name(FieldKind kind);

struct Field {
  FieldKind kind = FieldKind::data;
  ElementType type = ElementType::i8;
  int factor = 1;          ///< stored are factor * sum, scale / factor
  int repeat = 1;          ///< each value stands this many times in a row (ready-made vectors)
  bool per_block = false;  ///< once per block of k instead of once per panel
  int32_t base = 0;        ///< sums: added to each
  bool apart = false;      ///< per block, but those of all blocks together, behind all codes
};

/// What i32 sums begin with so that their bits, read as f32, are 1.5 * 2^23 + the sum, as long as
/// that is within 2^22 of zero: one subtraction converts them.
constexpr int32_t float_base = 0x4b400000;

/// Which codes of less than 8 bits share a byte: two nibbles, or four codes of 2 bits, the low one
/// first. What is said of the high nibble is true of the highest code, the rest of the others.
enum class NibblePair {
  none,    ///< values of whole bytes
  depth,   ///< low: k, high: k + distance, of the same row
  column,  ///< high: column c, low: column c + (columns of one vector), same k
  next,    ///< low: k, high: k + 1, of the same row: all codes one after the other
};

/// Order of the codes, all panels alike, k in groups, c codes in a byte:
///   none    [k / kr][row][kr values]
///   depth   [k / (c distance)][k % distance / kr][row][kr bytes]
///   column  [k / kr][vector][segment s of vl][16 / kr columns][kr bytes]; a vector's high nibbles
///           are columns ((2 v + 0) * vl + s) * (16 / kr) + j, its low nibbles
///           ((2 v + 1) * vl + s) * (16 / kr) + j, where vl = panel's vector length / 16 bytes.
///   next    [k / kr][row][kr / 2 bytes]
struct DataOrder {
  int kr = 4;
  NibblePair pair = NibblePair::none;
  bool low_unsigned = false;   ///< low nibble holds code + 8; a byte of one code, code + 128
  bool high_unsigned = false;  ///< high nibble holds code + 8
  int distance = 4;            ///< depth: values of k from low to high nibble, a multiple of kr
  bool even_first = false;     ///< none: of kr values of k the even ones stand before the odd ones
  int raised = 0;              ///< none: a byte holds code (of a table: its value) + that
};

/// What stands where an operand ends before its last panel does.
enum class Edge {
  zeros,  ///< code 0, values 0
  last    ///< the last row again (from rows of n nibbles: the codes of its byte in turn); on the
          ///< lhs, behind a row's last value of k, that value again. On the rhs codes behind k are
          ///< 0, so that it does not matter what the lhs has there.
};

/// How an lhs packer rounds to codes.
enum class Rounding { even, away };  ///< ties to even, ties away from zero

struct Layout {
  Side side = Side::rhs;
  ElementType element = ElementType::i8;  ///< codes of i8 may be kept as i16
  const CodeTable* table = nullptr;       ///< of the values that codes stand for; null: none
  Length panel = 1;                       ///< rows (lhs) or columns (rhs) of one panel
  DataOrder order;
  int k_multiple = 32;  ///< k is padded up to a multiple of this
  Edge edge = Edge::zeros;
  Rounding rounding = Rounding::even;
  int block = 0;        ///< values of k that share block fields; 0: no blocks
  int super_block = 0;  ///< values of k whose blocks stand together, behind steps, if there are
                        ///< any; 0: each block is on its own
  /// In memory order. Fields with per_block (data always moves with them when block != 0) are
  /// repeated for every block; the others stand once, before or after the blocks. Those that stand
  /// apart are the last ones.
  std::vector<Field> fields;

  friend bool operator==(const Layout&, const Layout&);
};

/// Canonical text, "rhs i4 n32 kr4 pair=depth uu k%32 [data|sums:i32*1|scales:f32|bias:f32]".
std::string canonical(const Layout& layout);
/// "_bias_f16": of floats whose biases are of another type than is usual; else empty.
std::string bias_suffix(const Layout& layout);
/// An lhs in panels of one row, not padded: kernels read it as its user keeps it, nothing packs it.
bool is_unpacked(const Layout& layout);
/// 64-bit FNV-1a of canonical(). Complete only together with the vector length it was packed at.
uint64_t id(const Layout& layout);

/// Blocks of up to plain_block values of k are unrolled. Longer ones are multiples of
/// long_block_step; code loops over them, so that it serves all of these.
constexpr int shortest_block = 16;
constexpr int plain_block = 32;
constexpr int long_block_step = 64;
bool has_long_blocks(const Layout& layout);

/// "_b64_bf16": what blocks add to a name; empty for the format's usual length and scales of f16
/// (lhs: f32). any_long: "_blocks_bf16" for all long ones.
enum class BlockLength { its_own, any_long };
std::string block_suffix(const Layout& layout, const Format& format,
                         BlockLength length = BlockLength::its_own);

/// The kr bytes of a row that hold value k are its group_of()th; first_k() is the value of their
/// first low nibble, or byte.
int64_t group_of(const Layout& layout, int64_t k);
int64_t first_k(const Layout& layout, int64_t group);

/// Rhs codes of integers without blocks: the largest k for which i32 holds the bytes' products,
/// 128 * 128 k, and what is made of them, factor * code * (activation - zero point) * k; of columns
/// with zero points the code less that. 0: no limit.
int64_t exact_k(const Layout& layout);

/// k rounded up to k_multiple (and to whole blocks).
int64_t padded_k(const Layout& layout, int64_t k);
/// Bytes of the codes of one panel for `k` values (already padded).
Length data_bytes(const Layout& layout, int64_t padded);
/// Bytes of one panel with all its fields; the panel stride.
Length panel_bytes(const Layout& layout, int64_t k);
/// Byte offset of a field in a panel without codes, where k is 0; in blocks, in the first one.
Length field_offset(const Layout& layout, FieldKind kind);
/// Bytes from a block's start to the next one's.
Length block_bytes(const Layout& layout);
/// Of these, what stands beside the codes.
Length block_field_bytes(const Layout& layout);
/// Likewise from those that stand apart to the next block's; whether a layout has such.
Length apart_bytes(const Layout& layout);
bool has_fields_apart(const Layout& layout);
/// Likewise from a super-block's start to the next one's, and to its first block.
Length super_block_bytes(const Layout& layout);
Length steps_bytes(const Layout& layout);
/// Values of k that stand together: a super-block, or a block; 0: neither.
int whole_block(const Layout& layout);
/// Whether scales are numbers of steps, not floats.
bool has_steps(const Layout& layout);
/// Whether a field stands once in a super-block.
bool is_step(FieldKind kind);
/// The floats that blocks' scales are, or in super-blocks numbers of.
FieldKind float_scale(const Layout& layout);
/// Index of the first field of that kind, -1 if there is none.
int field_index(const Layout& layout, FieldKind kind);
/// That field; null: there is none.
const Field* find_field(const Layout& layout, FieldKind kind);
/// Likewise the one for which codes are added up: sums, or a bias of i32.
const Field* summed_field(const Layout& layout);
/// Whether an lhs keeps sums of blocks' codes times their scales, once each.
bool has_real_sums(const Layout& lhs);
/// How often its values stand there; 0 without such a field.
int64_t repeat_of(const Layout& layout, FieldKind kind);
/// That field. Throws std::invalid_argument if there is none.
const Field& field_of(const Layout& layout, FieldKind kind);
/// What the order's offsets add to the codes of a byte.
int64_t offset_bits(const Layout& layout);
/// What stands in a byte of codes where there are no columns: code 0; of codes with tops, whose
/// columns' scales are 0 there, nothing.
int64_t empty_byte(const Layout& layout);
/// Bits of a code that are in the plane of `tops`; 0: there is none.
int top_bits(const Layout& layout);
/// A byte of tops holds those of so many groups of kr values of a column, and then those of the
/// same bytes of columns that are panel / vectors away.
struct TopOrder {
  int64_t groups;   ///< in a byte
  int64_t vectors;  ///< likewise
};
TopOrder top_order(const Layout& layout);
/// Codes of a byte, for elements of at most 8 bits.
int64_t byte_codes(const Layout& layout);
/// Of these, the codes of one row, DataOrder::distance apart in k.
int64_t depth_codes(const Layout& layout);

}  // namespace tw
