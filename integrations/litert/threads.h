// Work in slices, on the threads that the interpreter was given.
#pragma once

#include <cstddef>
#include <functional>

namespace tw::litert {

/// Calls `body(slice, thread)` once for each slice, on no more than so many threads, numbered from
/// 0.
void for_slices(int threads, size_t slices, const std::function<void(size_t, size_t)>& body);

}  // namespace tw::litert
