// Memory between two inaccessible pages: an access one byte past the end that lies flush with its
// guard page faults. The few bytes of slack at the other end hold a pattern that is checked.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace tw::test {

/// Which end of the bytes touches its guard page.
enum class Flush { start, end };

class GuardedBuffer {
 public:
  /// `misalign` moves the bytes that far away from the guard page (to try odd addresses).
  GuardedBuffer(std::string name, size_t bytes, Flush flush, size_t misalign = 0);
  ~GuardedBuffer();
  GuardedBuffer(const GuardedBuffer&) = delete;
  GuardedBuffer& operator=(const GuardedBuffer&) = delete;

  [[nodiscard]] uint8_t* data() const { return data_; }
  [[nodiscard]] size_t size() const { return bytes_; }
  void fill(uint8_t byte);

  /// Empty, or "lhs: byte -3 was written".
  [[nodiscard]] std::string slack_damage() const;
  /// "4 bytes past the end of lhs" when `address` is in or near this buffer, else empty.
  [[nodiscard]] std::string describe(const void* address) const;

 private:
  std::string name_;
  uint8_t* mapping_;
  size_t mapped_;  ///< bytes, both guard pages included
  uint8_t* data_;
  size_t bytes_;
};

}  // namespace tw::test
