#include "support/guarded_buffer.h"

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <utility>

namespace tw::test {
namespace {

constexpr uint8_t slack_byte = 0xC7;

size_t page() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::string name, size_t bytes, Flush flush, size_t misalign)
    : name_(std::move(name)), bytes_(bytes) {
  const size_t inner = (bytes + misalign + page()) / page() * page();
  mapped_ = inner + 2 * page();
  void* mapping =
      mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw std::runtime_error("mmap of " + name_ + " failed");
  mapping_ = static_cast<uint8_t*>(mapping);
  uint8_t* first = mapping_ + page();
  std::memset(first, slack_byte, inner);
  if (mprotect(mapping_, page(), PROT_NONE) != 0 ||
      mprotect(first + inner, page(), PROT_NONE) != 0) {
    throw std::runtime_error("mprotect of " + name_ + " failed");
  }
  data_ = flush == Flush::start ? first + misalign : first + inner - misalign - bytes;
}

GuardedBuffer::~GuardedBuffer() {
  munmap(mapping_, mapped_);
}

void GuardedBuffer::fill(uint8_t byte) {
  std::memset(data_, byte, bytes_);
}

std::string GuardedBuffer::slack_damage() const {
  const uint8_t* first = mapping_ + page();
  const uint8_t* last = mapping_ + mapped_ - page();
  for (const uint8_t* p = first; p != last; ++p) {
    if (p == data_) p += bytes_;
    if (p == last) break;
    if (*p != slack_byte) return name_ + ": byte " + std::to_string(p - data_) + " was written";
  }
  return {};
}

std::string GuardedBuffer::describe(const void* address) const {
  const auto* p = static_cast<const uint8_t*>(address);
  if (p < mapping_ || p >= mapping_ + mapped_) return {};
  if (p < data_) return std::to_string(data_ - p) + " bytes before the start of " + name_;
  if (p >= data_ + bytes_) {
    return std::to_string(p - data_ - static_cast<ptrdiff_t>(bytes_)) + " bytes past the end of " +
           name_;
  }
  return "byte " + std::to_string(p - data_) + " of " + name_;
}

}  // namespace tw::test
