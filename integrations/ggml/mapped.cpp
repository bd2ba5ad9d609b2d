#include "integrations/ggml/mapped.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <memory>

namespace tw::ggml {

namespace {

struct CloseFile {
  void operator()(FILE* file) const { std::fclose(file); }
};

/// Whether one shared mapping holds all of it, as /proc/self/maps has it (man 5 proc):
/// "begin-end rwxs offset device inode path". What the kernel drops of such a mapping is not lost.
bool is_shared(uintptr_t begin, uintptr_t end) {
  const std::unique_ptr<FILE, CloseFile> maps(std::fopen("/proc/self/maps", "re"));
  if (maps == nullptr) return false;
  uintptr_t first, last;
  char access[5];
  while (std::fscanf(maps.get(), "%" SCNxPTR "-%" SCNxPTR " %4s%*[^\n]", &first, &last, access) ==
         3) {
    if (first <= begin && end <= last) return access[3] == 's';
  }
  return false;
}

}  // namespace

void release_mapped(const void* data, size_t size) {
  const auto page = static_cast<uintptr_t>(sysconf(_SC_PAGESIZE));
  const auto at = reinterpret_cast<uintptr_t>(data);
  const uintptr_t begin = (at + page - 1) / page * page, end = (at + size) / page * page;
  if (begin >= end || !is_shared(begin, end)) return;
  madvise(reinterpret_cast<void*>(begin), end - begin, MADV_DONTNEED);
}

}  // namespace tw::ggml
