// One resolved line of a spec: everything that `lower` needs to write a Program.
#pragma once

#include <array>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include "model/format.h"
#include "model/isa.h"
#include "model/layout.h"

namespace tw {

struct Tile {
  Length m = 1;
  Length n = 1;
};

/// Which cache the packed rhs is prefetched into, at the distance that the kernel's caller chose:
/// `near`, the first, for one pass over the weights; `beside`, likewise, but each line's right
/// before the load of a line, not those of a whole step before its loads; `far`, the second, for
/// panels that several tiles of rows come back to.
enum class Prefetch { none, near, beside, far };
inline constexpr std::array prefetches_of_weights = {Prefetch::none, Prefetch::near,
                                                     Prefetch::beside, Prefetch::far};
std::string_view name(Prefetch prefetch);

/// Whose packed operands a kernel reads: ours, made for its instructions, or those that KleidiAI's
/// packers of the same formats write, for programs that have them already.
enum class LayoutStyle { own, kleidiai };
std::string_view name(LayoutStyle style);

/// Choices inside a kernel that change speed only.
struct Knobs {
  int unroll_k = 32;     ///< k values per iteration of the main loop
  int accumulators = 1;  ///< independent sets of accumulators (k is dealt out to them in turn)
  Prefetch prefetch = Prefetch::none;
  bool paired_loads = false;  ///< assembly: ldp-like pairs instead of longer register lists
  std::string core;           ///< core table to schedule for; empty: the ISA's default
};

struct Family {
  std::string name;  ///< "matmul_clamp_f32_qai8dxp_qsi4cxp"
  Operation operation = Operation::matmul;
  const Format* lhs = nullptr;
  const Format* rhs = nullptr;
  ElementType dst = ElementType::f32;   ///< of its outputs
  ElementType sums = ElementType::f32;  ///< that products of floats are added up in
  bool accumulate = false;              ///< they are added to what dst holds
  std::vector<ElementType> lhs_from;    ///< packers to generate
  std::vector<std::string> rhs_from;    ///< "nxk", "kxn"
};
/// Whether it is of decoders that write codes ...
bool makes_codes(const Family& family);
/// ... and of which format, where not of the same as whole bytes (decoded_layout()); null: those.
const Format* wider_codes(const Family& family);
/// "matmul_clamp_f32_qai8dxp_qsi4cxp", by what else the family says.
std::string family_name(const Family& family);

/// The taps of a depthwise convolution, and how many pixels lie from one output's to the next
/// one's.
struct Window {
  int height = 0;  ///< 0: a matrix multiplication
  int width = 0;
  int stride = 1;
};

/// What a kernel of attention does with a block of positions (model/attention.h).
enum class Stage { none, scores, weights, values };

struct Variant {
  Family family;
  Window window;  ///< its outputs are pixels (m) by channels (n), its depth k the taps
  Stage stage = Stage::none;
  LayoutStyle style = LayoutStyle::own;
  Layout lhs;
  Layout rhs;
  Layout decoded;                   ///< of a decoder to codes: what it writes
  const Format* rows_of = nullptr;  ///< the weights whose rows these are; null: the family's own
  Tile tile;
  Knobs knobs;
  Technique technique = Technique::dot;
  const Isa* isa = nullptr;
  bool print_c = true;
  bool print_assembly = true;
  /// Compilers whose code for its intrinsics keeps vectors of the hot loop on the stack, as the
  /// spec says: "none", "gcc", "clang", "gcc, clang"; "unknown": it does not say.
  std::string spills = "unknown";
  Where where;       ///< of the kernel entry
  Where tile_where;  ///< of its tile

  /// "matmul_clamp_f32_qai8dxp8x8_qsi4cxp8x8_8x8_neon_i8mm", without prefix and printer suffix;
  /// knobs that differ from the defaults are appended. For people: nothing parses it.
  [[nodiscard]] std::string name() const;
  /// The same for the code, which is one for all long blocks: "..._blocks" where that says "_b128".
  [[nodiscard]] std::string code_name() const;
};

/// Iterations of the hot loop in a long block; 0: it runs over all of k.
int64_t block_trips(const Variant& variant);

/// Panels as a spec asks for them; zero: choose what the technique and the ISA like.
struct Panels {
  Length lhs = 0;
  Length rhs = 0;
  int kr = 0;
  LayoutStyle style = LayoutStyle::own;
  int block = 0;  ///< values of k that share a weight scale; zero: the format's
  std::optional<ElementType> scales = {};  ///< per block; none: the format's
  ElementType sums = ElementType::f32;     ///< of products of floats
  std::optional<ElementType> bias = {};    ///< beside floats of layout kleidiai; none: as usual
};

/// Throws std::invalid_argument where products of such activations have no outputs of that type, or
/// the ISA lacks what makes them, or reads them to add to them.
void check_output(const Format& lhs, ElementType dst, bool accumulate, const Isa& isa);

/// Throws std::invalid_argument for blocks that weights of this format cannot have; 0: none.
void check_block(const Format& rhs, int64_t block, ElementType scales);

/// Not of that technique on that ISA, whatever the panels.
struct NoInstruction : std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

/// The layouts of both operands, from formats, technique and ISA alone (so that kernels agree on
/// them). Throws std::invalid_argument with what would be legal, e.g. for a kr that the
/// instruction cannot eat.
struct LayoutPair {
  Layout lhs;
  Layout rhs;
};
LayoutPair choose_layouts(const Format& lhs, const Format& rhs, Technique technique, const Isa& isa,
                          const Panels& panels);

/// Of weights in short blocks that choose_layouts() packs for some technique: the same panels with
/// each code, or the value that it stands for, in a byte as the technique's instruction multiplies
/// it, with whatever else the panels have; read beside the same activations. Throws
/// std::invalid_argument where instructions multiply other bytes.
Layout decoded_layout(const Family& family, const LayoutPair& layouts, Technique technique,
                      const Isa& isa);

}  // namespace tw
