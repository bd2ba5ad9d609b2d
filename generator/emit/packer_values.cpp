#include "emit/packer_values.h"

#include <fmt/format.h>

#include <stdexcept>

#include "emit/packer_fields.h"

namespace tw {

std::string number(int64_t value) {
  return std::to_string(value);
}

void set_edge_values(const Layout& layout, PackerValues& values) {
  const bool repeats = layout.edge == Edge::last;
  values["FILLED"] = repeats ? "panel" : "rows";
  values["FROM"] = repeats ? "smaller(r, rows - 1)" : "r";
  values["PADDING"] = repeats ? "chunk->codes[count - 1]" : "0";
  values["PADDING_TEXT"] = repeats ? "like the last one" : "0";
}

int64_t panel_units(const Layout& layout) {
  return layout.panel.vl + layout.panel.svl;
}

void expect_vectorized(const PackerRequest& request, bool vectorized) {
  if (vectorized) return;
  throw std::runtime_error(fmt::format("no packer for layout '{}' on {}: it lacks operations",
                                       canonical(request.layout), request.isa.name));
}

}  // namespace tw
