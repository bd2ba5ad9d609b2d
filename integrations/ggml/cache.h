// Packed weights kept in files of the folder that TILEWRIGHT_CACHE names, so that the next start
// maps them instead of packing. Files are complete when they get their names, and never change.
#pragma once

#include <string>

#include "integrations/ggml/hash.h"
#include "integrations/ggml/packing.h"

namespace tw::ggml {

/// Empty: nothing is kept.
std::string cache_folder();

/// What some weights packed are kept in.
class CacheFile {
 public:
  /// `source` is of all of the weights as ggml has them.
  CacheFile(const std::string& folder, const Packing& packing, size_t matrices, const Hash& source);

  /// Puts the file's pages, read only, in the place of those at `packed`, which begins a page and
  /// has the last one for itself. False where there is no such file, or, with a line on stderr,
  /// none that is whole and ours.
  [[nodiscard]] bool map_over(void* packed) const;

  /// Writes what is at `packed` to the file, and puts the file's pages in its place. Where that
  /// fails, it stays as it is; a line on stderr says so once.
  void keep(void* packed) const;

 private:
  struct Header {
    char magic[8];
    uint64_t library_version, layout, vector_bytes;
    uint64_t type, n, k, matrices;
    uint64_t packed_at, packed_bytes;
    Hash source, packed;
    Hash header;  ///< of all before
  };
  [[nodiscard]] Header header_of(const Hash& packed) const;
  [[nodiscard]] size_t file_bytes() const;
  void write(int file, const void* packed) const;
  /// Empty: it is what it should be, and mapped.
  [[nodiscard]] std::string read(int file, void* packed) const;

  std::string path_;
  Header expected_;  ///< but for the hash of what is packed
};

}  // namespace tw::ggml
