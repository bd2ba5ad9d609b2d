// Files that a loader has mapped: what was read of them need not stay in this process's memory.
#pragma once

#include <cstddef>

namespace tw::ggml {

/// Takes the whole pages within `size` bytes at `data` out of this process's memory if they are a
/// shared mapping, as llama.cpp's of a model is: they stay in the system's cache and come back when
/// they are read. Memory of any other kind is left as it is.
void release_mapped(const void* data, size_t size);

}  // namespace tw::ggml
