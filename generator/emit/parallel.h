// Independent pieces of work on all cores.
#pragma once

#include <cstddef>
#include <functional>

namespace tw {

/// Calls body(0) ... body(count - 1), each once, several at a time. Throws what the first of those
/// that fail throws, as a loop would; later ones may have run by then.
void for_each_in_parallel(size_t count, const std::function<void(size_t)>& body);

}  // namespace tw
