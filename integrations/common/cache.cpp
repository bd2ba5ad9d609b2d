#include "integrations/common/cache.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "integrations/common/message.h"
#include "integrations/common/pages.h"
#include "integrations/common/this_device.h"

namespace tw {

namespace {

class File {
 public:
  explicit File(int descriptor) : descriptor_(descriptor) {}
  ~File() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;
  [[nodiscard]] int get() const { return descriptor_; }

 private:
  int descriptor_;
};

[[noreturn]] void fail() {
  throw std::system_error(errno, std::generic_category());
}

/// As much as possible at once: the system then keeps it in large pieces.
void write_all(int file, const void* bytes, size_t size, size_t offset) {
  for (size_t done = 0; done < size;) {
    const ssize_t written = pwrite(file, static_cast<const char*>(bytes) + done, size - done,
                                   static_cast<off_t>(offset + done));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail();
    done += static_cast<size_t>(written);
  }
}

/// One that has no name yet that anybody looks for.
class NewFile {
 public:
  explicit NewFile(const std::string& path)
      : name_(path + ".XXXXXX"), file_(mkostemp(name_.data(), O_CLOEXEC)) {
    if (file_.get() < 0) fail();
  }
  ~NewFile() {
    if (!kept_) unlink(name_.c_str());
  }
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  [[nodiscard]] int get() const { return file_.get(); }
  /// Only when all of it is on the disk, so that no crash leaves a part of it under this name.
  void keep_as(const std::string& path) {
    constexpr mode_t kReadByAll = 0644;
    if (fchmod(get(), kReadByAll) != 0 || fsync(get()) != 0 ||
        std::rename(name_.c_str(), path.c_str()) != 0) {
      fail();
    }
    kept_ = true;
  }

 private:
  std::string name_;
  File file_;
  bool kept_ = false;
};

std::string name_of(const CacheKey& key) {
  return fmt::format("{}-{:016x}-{}-v{}-{:016x}{:016x}.packed", key.shape, key.layout.id,
                     vector_bytes_of(key.layout), tw_version(), key.source[1], key.source[0]);
}

}  // namespace

std::string cache_folder() {
  const char* named = std::getenv("TILEWRIGHT_CACHE");
  return named != nullptr ? named : "";
}

CacheFile::CacheFile(const std::string& folder, const CacheKey& key, size_t packed_bytes,
                     Threads threads)
    : expected_{}, threads_(std::move(threads)) {
  const std::string name = name_of(key);
  std::memcpy(expected_.magic, "TWCACHE2", sizeof expected_.magic);
  expected_.packed_at = kHugePage;
  expected_.packed_bytes = packed_bytes;
  expected_.name = hash(name.data(), name.size());
  path_ = folder + "/" + name;
}

void CacheFile::fill(const char* name, void* packed, const std::function<void()>& pack) const {
  const bool is_there = map_over(packed);
  if (!is_there) {
    pack();
    keep(packed);
  }
  if (is_set("TILEWRIGHT_LOG", "1")) {
    message("{}: {}", name, is_there ? "mapped from the cache" : "packed for the cache");
  }
}

CacheFile::Header CacheFile::header_of(const Hash& packed) const {
  Header header = expected_;
  header.packed = packed;
  header.header = hash(&header, offsetof(Header, header));
  return header;
}

/// What follows the header begins a huge page, as memory does; between them there is a hole.
size_t CacheFile::file_bytes() const {
  return expected_.packed_at + whole_pages(expected_.packed_bytes);
}

bool CacheFile::map_over(void* packed) const {
  const File file(open(path_.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.get() < 0) return false;
  const std::string wrong = read(file.get(), packed);
  if (wrong.empty()) return true;
  message("TILEWRIGHT_CACHE: {}: {}; packed again", path_, wrong);
  return false;
}

std::string CacheFile::read(int file, void* packed) const {
  struct stat status = {};
  if (fstat(file, &status) != 0) return std::strerror(errno);
  if (static_cast<uint64_t>(status.st_size) != file_bytes()) {
    return fmt::format("has {} bytes, not {}", status.st_size, file_bytes());
  }
  Header found = {};
  if (pread(file, &found, sizeof found, 0) != sizeof found) return std::strerror(errno);
  const Header wanted = header_of(found.packed);
  if (std::memcmp(&found, &wanted, sizeof found) != 0) return "has not the header of these weights";
  if (!map_pages(packed, expected_.packed_bytes, file, expected_.packed_at)) {
    return std::strerror(errno);
  }
  if (hash(packed, expected_.packed_bytes) == found.packed) return "";
  renew_pages(packed, expected_.packed_bytes);
  return "is damaged";
}

void CacheFile::keep(void* packed) const {
  static std::mutex mutex;
  static std::string failed_folder;
  const std::filesystem::path folder = std::filesystem::path(path_).parent_path();
  const std::lock_guard lock(mutex);
  if (folder == failed_folder) return;
  try {
    std::filesystem::create_directories(folder);
    NewFile file(path_);
    write(file.get(), packed);
    file.keep_as(path_);
    map_pages(packed, expected_.packed_bytes, file.get(), expected_.packed_at);
  } catch (const std::exception& error) {
    failed_folder = folder;
    message("TILEWRIGHT_CACHE: cannot write {}: {}; going on without", path_, error.what());
  }
}

void CacheFile::write(int file, const void* packed) const {
  const Header header = header_of(hash(packed, expected_.packed_bytes));
  write_all(file, &header, sizeof header, 0);
  write_all(file, packed, expected_.packed_bytes, expected_.packed_at);
  if (ftruncate(file, static_cast<off_t>(file_bytes())) != 0) fail();
}

}  // namespace tw
