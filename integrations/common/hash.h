// What tells one content from another, quickly: xxHash's 128 bits, by all cores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "integrations/common/slices.h"

namespace tw {

using Hash = std::array<uint64_t, 2>;

/// On as many of the threads as are worth it; the hash does not hang on them.
Hash hash_of(const void* data, size_t size, Threads threads);

}  // namespace tw
