// Super-blocks of a source: numbers that scales and minimums of blocks are kept as, and their
// steps.
#pragma once

#include "ir/builder.h"
#include "model/sources.h"

namespace tw {

/// Writes those of one column, whose number in the panel is `row`. Pointers: to where its
/// super-block begins in the source, and the panel's in the layout.
void put_super_block_numbers(Builder& b, const Layout& layout, const Source& source, Value from,
                             Value to, Value row);

}  // namespace tw
