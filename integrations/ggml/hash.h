// What tells one content from another, quickly: xxHash's 128 bits, by all cores.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace tw::ggml {

using Hash = std::array<uint64_t, 2>;

Hash hash_of(const void* data, size_t size);

}  // namespace tw::ggml
