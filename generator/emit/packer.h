// Packers: from a Layout, C files that bring an operand into it, one per (layout, source, ISA); one
// for all lhs layouts that differ in what a packer takes as arguments only. They are Programs
// (lower/pack.h), so that every ISA gets what its operations allow.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ir/program.h"
#include "model/variant.h"

namespace tw {

struct PackerSource {
  std::string name;     ///< "rhs_pack_nxk_qsi4cxp8x8_neon_i8mm": also the file's name without ".c"
  std::string symbol;   ///< C function of type tw_packer_fn: "tw_" + name
  std::string operand;  ///< "lhs" or "rhs"
  std::string source;   ///< of the lhs a type, "f32", else "nxk", "kxn" ...
  std::vector<Layout> layouts;  ///< more than one: of the lhs, what differs is its arguments
  const Isa* isa = nullptr;
  std::vector<std::string> families;  ///< those that need it
  bool vectorized = false;  ///< false: the ISA lacks operations, or has no vectors: plain C
  std::string text;         ///< the C file, without the file's head (licence, origin)
};

/// The names of the packers that `variants` need, and what each packs into. A name says all that
/// tells a packer from others, so that it is the same whatever else there is.
std::map<std::string, std::vector<Layout>> packed_layouts(const std::vector<Variant>& variants);

/// Those packers: one per distinct (layouts, source, ISA), in the order of first need, lhs first.
/// `templates` is the templates folder. Throws std::runtime_error for a layout or a source that no
/// packer handles (what plain C does not know where the ISA has no instructions for it).
std::vector<PackerSource> make_packers(const std::vector<Variant>& variants,
                                       const std::string& templates);

}  // namespace tw
