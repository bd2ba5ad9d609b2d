// Memory in whole pages, over parts of which files can be mapped.
#pragma once

#include <cstddef>

namespace tw {

/// What misses the TLB less often; memory and files are mapped in such where both are aligned to
/// it.
inline constexpr size_t kHugePage = size_t{1} << 21;

size_t whole_pages(size_t bytes);
size_t whole_huge_pages(size_t bytes);
bool begins_huge_page(const void* memory);

/// Zeros, from a huge page's beginning on. Null: there is no memory.
void* allocate_pages(size_t bytes);
void free_pages(void* memory, size_t bytes);

/// Put something else in the place of whole pages of such memory, whose last huge page has nothing
/// else: zeros, or a file from `offset` on, read only and never changed by writing to memory.
/// False: it stays as it is.
bool renew_pages(void* memory, size_t bytes);
bool map_pages(void* memory, size_t bytes, int file, size_t offset);
/// Of files, too: they are copied when they are written to.
void make_writable(void* memory, size_t bytes);

}  // namespace tw
