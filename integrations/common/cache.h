// Packed weights kept in files of the folder that TILEWRIGHT_CACHE names, so that the next start
// maps them instead of packing. Files are complete when they get their names, and never change.
#pragma once

#include <functional>
#include <string>

#include "integrations/common/hash.h"
#include "tilewright/tilewright.h"

namespace tw {

/// Empty: nothing is kept.
std::string cache_folder();

/// All that packed weights hang on, which is what their file is called by.
struct CacheKey {
  std::string shape;  ///< and type, for people, too
  const tw_layout& layout;
  Hash source;  ///< of all that is packed, as the host has it
};

/// What some weights packed are kept in.
class CacheFile {
 public:
  CacheFile(const std::string& folder, const CacheKey& key, size_t packed_bytes, Threads threads);

  /// Makes the memory at `packed`, which is whole huge pages, the file's: maps it, or lets `pack`
  /// fill it and writes the file. Where that fails, or a file is not what it should be, a line on
  /// stderr says so. TILEWRIGHT_LOG=1 says whether it was there, by the weights' `name`.
  void fill(const char* name, void* packed, const std::function<void()>& pack) const;

 private:
  struct Header {
    char magic[8];
    uint64_t packed_at, packed_bytes;
    Hash name, packed;
    Hash header;  ///< of all before
  };
  [[nodiscard]] Hash hash(const void* data, size_t size) const {
    return hash_of(data, size, threads_);
  }
  [[nodiscard]] Header header_of(const Hash& packed) const;
  [[nodiscard]] size_t file_bytes() const;
  /// Puts the file's pages, read only, in the place of those at `packed`. False where there is no
  /// such file, or, with a line on stderr, none that is whole and ours.
  [[nodiscard]] bool map_over(void* packed) const;
  /// Empty: it is what it should be, and mapped.
  [[nodiscard]] std::string read(int file, void* packed) const;
  /// Writes what is at `packed` to the file, and puts the file's pages in its place. Where that
  /// fails, it stays as it is; a line on stderr says so once.
  void keep(void* packed) const;
  void write(int file, const void* packed) const;

  std::string path_;
  Header expected_;  ///< but for the hash of what is packed
  Threads threads_;
};

}  // namespace tw
