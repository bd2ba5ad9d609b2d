// Operand contracts: what the instructions of a technique want of the operands that they multiply.
#pragma once

#include "model/variant.h"

namespace tw {

/// An operation that the ISA must have, with lanes of so many bits.
struct Need {
  OpCode code;
  int bits = 0;
};

/// A length in rows or columns, by an ISA's vectors: `vectors` of them, divided by `bytes`; or by
/// its accumulator tiles; else `fixed`.
struct Extent {
  enum class Tile { none, rows, columns };
  int64_t fixed = 0;
  int64_t vectors = 0;
  int64_t bytes = 1;  ///< of a vector that go to one row or column; 0: the depth kr
  Tile tile = Tile::none;
  [[nodiscard]] Length of(const Isa& isa, int kr) const;
};

/// What multiplies operands of a contract, a file each in lower/.
enum class Contraction {
  dot_depth,   ///< the codes of a vector are consecutive in k
  dot_column,  ///< one byte holds codes of two columns
  dot_narrow,  ///< sums of 16 bits first
  dot_pairs,   ///< products of 16 bits
  dot_groups,  ///< sums in rows of accumulator tiles
  mmla,
  fma,
  fma_halves,  ///< of operands of 16 bits
  fma_pairs,   ///< of those whose weights stand in pairs of k
  outer,
  tile_dot  ///< tiles on either side, too
};

/// What a contract is for: layouts of ours, of KleidiAI, or either ...
enum class OfLayouts { any, own, kleidiai };
/// ... and weights with scales for columns, for their blocks, or either.
enum class OfScales { any, columns, blocks };

struct OperandContract {
  Technique technique;
  OfLayouts layouts;
  std::vector<ElementType> weights;
  OfScales scales;
  std::vector<Need> needs;  ///< first the operation that multiplies
  std::vector<int> kr;      ///< legal depths, the preferred one first
  Extent lhs_rows;          ///< that one lhs operand holds
  Extent rhs_columns;       ///< that one packed rhs vector holds, both nibbles
  NibblePair pair;
  bool low_unsigned, high_unsigned;
  ElementType lhs_kept;  ///< what the lhs codes are kept as
  Contraction contraction;
  [[nodiscard]] OpCode code() const { return needs.front().code; }
};

/// Codes with signs come out of a table in the machine, where others are looked up.
bool looks_up_codes(const OperandContract& contract);
/// What an accumulator starts from is so many times the sum of its row's codes: they are multiplied
/// by (code + 8) for unsigned nibbles, (code + 128) for bytes and so on, which that takes back;
/// by halves where two lanes add up to one output. Minus a power of two; 0: weights have their
/// signs, or minimums from whose codes they count.
int start_factor(const OperandContract& contract, const Format& rhs, int kr);
int start_factor(const Variant& variant);
/// Whether sums are in accumulator tiles that vectors are multiplied into.
bool sums_in_tiles(const OperandContract& contract);
/// Of weights with minimums, the code that is multiplied as 0, counted from the lowest one.
int code_of_zero(const OperandContract& contract, const Format& rhs);
/// Whether values of a table are multiplied as unsigned bytes.
bool holds_unsigned(const OperandContract& contract);
/// Values of k whose products a lane of 16 bits holds, that of every other one (Contraction::
/// dot_narrow), for codes of that format and activations of any 8 bits; 0: not of one operand.
int64_t narrow_depth(const Format& rhs);
/// Whether starts are ready in the layout: the sums times that.
bool loads_starts(const OperandContract& contract);
/// The registers that hold an argument of `product`, which multiplies tiles.
const RegisterFile& tile_file(const Isa& isa, OpCode product, size_t argument);
/// The first contract that fits; null: the ISA has no instruction for it.
const OperandContract* find_contract(const Format& lhs, const Format& rhs, Technique technique,
                                     LayoutStyle style, const Isa& isa, ElementType sums);
/// Names of techniques that some ISA multiplies those with.
std::vector<std::string_view> techniques_of(const Format& lhs, const Format& rhs, ElementType sums);
/// What there is to say of an ISA where no technique multiplies those.
std::string no_technique(const Format& lhs, const Format& rhs);
/// That of a variant, which has one.
const OperandContract& contract_of(const Variant& variant);

}  // namespace tw
