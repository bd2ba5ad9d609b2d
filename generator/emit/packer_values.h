// What packers of activations fill their skeletons with.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>

#include "model/variant.h"

namespace tw {

/// Of a skeleton's @WORDS@.
using PackerValues = std::map<std::string, std::string>;

struct PackerRequest {
  Layout layout;
  const Isa& isa;
  const Format& format;
  LayoutStyle style;
  std::string source;
  std::filesystem::path files;  ///< templates/file
};

std::string number(int64_t value);
/// Rows or columns of a panel for every 16 bytes of vector length.
int64_t panel_units(const Layout& layout);

/// What the skeletons do where rows or a row's values end: how many rows of a panel they fill, and
/// from which row of the source.
void set_edge_values(const Layout& layout, PackerValues& values);

/// The plain C loops know one rounding, nibbles side by side, and sums as they are.
void expect_vectorized(const PackerRequest& request, bool vectorized);

/// packer_lhs.cpp: true when vectorized.
bool fill_lhs(const PackerRequest& request, PackerValues& values);

}  // namespace tw
