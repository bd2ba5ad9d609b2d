// Convolutions as products: which pixels each row is.
#pragma once

#include <cstdint>
#include <vector>

#include "tilewright/convolution.h"

namespace tw {

/// The pixels that a part of a convolution lies on, for each output; `indirect` points to them.
struct PixelTable {
  std::vector<const void*> rows;
  std::vector<int8_t> pad;
  tw_convolution_outputs outputs;
  tw_indirect indirect;
};
/// Of the image that begins at `pixels`; padding of codes is their zero point. Throws
/// tilewright::Error.
PixelTable pixel_table(const tw_convolution& convolution, size_t part, const void* pixels,
                       int32_t zero_point);

}  // namespace tw
