#include "integrations/common/pixel_table.h"

#include "tilewright/tilewright.hpp"

namespace tw {

PixelTable pixel_table(const tw_convolution& convolution, size_t part, const void* pixels,
                       int32_t zero_point) {
  PixelTable table = {{},
                      std::vector<int8_t>(convolution.pixel_bytes, static_cast<int8_t>(zero_point)),
                      tilewright::sized<tw_convolution_outputs>(),
                      tilewright::sized<tw_indirect>()};
  tilewright::check(tw_convolution_part(&convolution, part, &table.outputs));
  table.rows.resize(table.outputs.lines * table.outputs.columns * table.outputs.taps);
  tilewright::check(tw_convolution_rows(&convolution, part, pixels, table.pad.data(), 1,
                                        table.rows.data(), table.rows.size()));
  table.indirect.rows = table.rows.data();
  table.indirect.row_count = table.rows.size();
  table.indirect.tile = 1;
  table.indirect.pad = table.pad.data();
  return table;
}

}  // namespace tw
