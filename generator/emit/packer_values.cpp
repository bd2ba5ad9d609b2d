#include "emit/packer_values.h"

#include <fmt/format.h>

#include <stdexcept>

#include "emit/packer_fields.h"

namespace tw {

std::string number(int64_t value) {
  return std::to_string(value);
}

void set_common_values(const Layout& layout, PackerValues& values) {
  values["PANEL"] = number(layout.panel.fixed);
  values["KR"] = number(layout.order.kr);
  values["K_MULTIPLE"] = number(layout.k_multiple);
  values["DATA_OFFSET"] = field_offset_text(layout, FieldKind::data);
}

void set_edge_values(const Layout& layout, PackerValues& values) {
  const bool repeats = layout.edge == Edge::last;
  const bool lhs = layout.side == Side::lhs;
  const std::string rows = lhs ? "rows" : "columns";
  const std::string row = lhs ? "r" : "c";
  values["FILLED"] = repeats ? (lhs ? "panel" : "PANEL") : rows;
  values["FROM"] = repeats ? fmt::format("smaller({}, {} - 1)", row, rows) : row;
  values["PADDING"] = repeats ? "chunk->codes[count - 1]" : "0";
  values["PADDING_TEXT"] = repeats ? "like the last one" : "0";
  values["EDGE_TEXT"] = repeats
                            ? "do not exist repeat the last ones, values beyond k become code 0."
                            : "do not exist and values beyond k become code 0.";
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
