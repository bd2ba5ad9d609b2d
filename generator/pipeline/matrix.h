// What there is of everything: families by ISAs, as text that reads as Markdown, too.
#pragma once

#include <string>
#include <vector>

#include "emit/packer.h"
#include "model/variant.h"

namespace tw {

/// A row for each family of `variants`, a column for each ISA that any of them has; a cell says
/// which printers, a tile of one row and packers there are, or why there is nothing. `packers`:
/// those of the variants.
std::string print_matrix(const std::vector<const Variant*>& variants,
                         const std::vector<PackerSource>& packers);

}  // namespace tw
