// Packers as whole Programs, edges and fields and all. Like kernels they name no ISA: they ask
// which operations exist.
#pragma once

#include <optional>
#include <string>

#include "ir/program.h"
#include "model/layout.h"
#include "model/sources.h"

namespace tw {

/// Whether the ISA has the moves for a packer of weights, or of floats. For none that converts.
bool can_pack(const Layout& layout, const Source& source, const Isa& isa);

/// A whole packer of weights, or of floats, of type tw_packer_fn. By an ISA that has not the moves,
/// value by value: that of plain C, whose vectors are 4 bytes.
Program lower_packer(const std::string& name, const Layout& layout, const Source& source,
                     const Isa& isa);

/// Whether the ISA has the operations to quantize rows of such floats to that layout.
bool can_quantize(const Layout& layout, ElementType from, const Isa& isa);

/// A whole packer that quantizes rows of such floats. Throws std::logic_error where can_quantize()
/// is false. Sums, and how often values stand in a block, are the packer's arguments.
Program lower_quantizing_packer(const std::string& name, const Layout& layout, ElementType from,
                                const Isa& isa);

/// True when the ISA has streaming stores and the fence that must follow the last of them.
bool can_stream(const Isa& isa);

}  // namespace tw
