#include "integrations/common/pages.h"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>

namespace tw {

namespace {

size_t page_bytes() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

size_t rounded_up(size_t bytes, size_t to) {
  return (bytes + to - 1) / to * to;
}

/// As it is mapped.
size_t mapped_bytes(size_t bytes) {
  return bytes < kHugePage ? whole_pages(std::max<size_t>(1, bytes)) : whole_huge_pages(bytes);
}

}  // namespace

size_t whole_pages(size_t bytes) {
  return rounded_up(bytes, page_bytes());
}

size_t whole_huge_pages(size_t bytes) {
  return rounded_up(bytes, kHugePage);
}

bool begins_huge_page(const void* memory) {
  return reinterpret_cast<uintptr_t>(memory) % kHugePage == 0;
}

void* allocate_pages(size_t bytes) {
  const size_t wanted = mapped_bytes(bytes);
  const size_t more = kHugePage - page_bytes();  // for an aligned part of the size that is wanted
  void* mapped =
      mmap(nullptr, wanted + more, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  auto* const begin = static_cast<uint8_t*>(mapped);
  const size_t before =
      whole_huge_pages(reinterpret_cast<uintptr_t>(begin)) - reinterpret_cast<uintptr_t>(begin);
  if (before != 0) munmap(begin, before);
  if (before != more) munmap(begin + before + wanted, more - before);
  if (wanted >= kHugePage) madvise(begin + before, wanted, MADV_HUGEPAGE);
  return begin + before;
}

void free_pages(void* memory, size_t bytes) {
  munmap(memory, mapped_bytes(bytes));
}

namespace {

bool put(void* memory, size_t bytes, int access, int flags, int file, size_t offset) {
  if (mmap(memory, whole_pages(bytes), access, MAP_PRIVATE | MAP_FIXED | flags, file,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return false;
  }
  madvise(memory, whole_pages(bytes), MADV_HUGEPAGE);
  const size_t rest = whole_huge_pages(bytes) - whole_pages(bytes);  // of what was there before
  if (rest != 0) madvise(static_cast<uint8_t*>(memory) + whole_pages(bytes), rest, MADV_DONTNEED);
  return true;
}

}  // namespace

bool renew_pages(void* memory, size_t bytes) {
  return put(memory, bytes, PROT_READ | PROT_WRITE, MAP_ANONYMOUS, -1, 0);
}

bool map_pages(void* memory, size_t bytes, int file, size_t offset) {
  return put(memory, bytes, PROT_READ, 0, file, offset);
}

void make_writable(void* memory, size_t bytes) {
  mprotect(memory, whole_pages(bytes), PROT_READ | PROT_WRITE);
}

}  // namespace tw
