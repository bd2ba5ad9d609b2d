#include "support/guarded_buffer.h"

#if defined(_WIN32)
#include <windows.h>
#else
#include <sys/mman.h>
#include <unistd.h>
#endif

#include <algorithm>
#include <array>
#include <cstring>
#include <map>
#include <stdexcept>
#include <utility>

namespace tw::test {
namespace {

constexpr uint8_t slack_byte = 0xC7;

#if defined(_WIN32)
size_t page() {
  return 4096;
}

/// Memory that may be read and written; null: there is none.
uint8_t* map(size_t bytes) {
  return static_cast<uint8_t*>(
      VirtualAlloc(nullptr, bytes, MEM_RESERVE | MEM_COMMIT, PAGE_READWRITE));
}

bool guard(uint8_t* at) {
  DWORD before = 0;
  return VirtualProtect(at, page(), PAGE_NOACCESS, &before) != 0;
}

void unmap(uint8_t* mapping, size_t /*bytes*/) {
  VirtualFree(mapping, 0, MEM_RELEASE);
}
#else
size_t page() {
  static const auto bytes = static_cast<size_t>(sysconf(_SC_PAGESIZE));
  return bytes;
}

/// Memory that may be read and written; null: there is none.
uint8_t* map(size_t bytes) {
  void* made = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return made == MAP_FAILED ? nullptr : static_cast<uint8_t*>(made);
}

bool guard(uint8_t* at) {
  return mprotect(at, page(), PROT_NONE) == 0;
}

void unmap(uint8_t* mapping, size_t bytes) {
  munmap(mapping, bytes);
}
#endif

/// Mappings between guard pages that no buffer has any more, by their bytes: making one takes
/// longer than most calls that are checked, above all under an emulator. Never destroyed: buffers
/// may live until the program's end.
std::multimap<size_t, uint8_t*>& unused() {
  static auto& mappings = *new std::multimap<size_t, uint8_t*>;
  return mappings;
}

/// `bytes` with the guard pages; null when it fails.
uint8_t* map_between_guards(size_t bytes) {
  if (auto mapping = unused().extract(bytes); !mapping.empty()) return mapping.mapped();
  uint8_t* mapping = map(bytes);
  if (mapping == nullptr) return nullptr;
  return guard(mapping) && guard(mapping + bytes - page()) ? mapping : nullptr;
}

/// Whether all of a range is slack, by words: an emulator has a call for each vector that memcmp
/// compares, and tests compare pages for each call of theirs.
bool is_slack(const uint8_t* from, const uint8_t* to) {
  uint64_t slack = 0, differences = 0;
  std::memset(&slack, slack_byte, sizeof slack);
  std::array<uint64_t, 8> words{};
  for (; to - from >= ptrdiff_t{sizeof words}; from += sizeof words) {
    std::memcpy(words.data(), from, sizeof words);
    for (const uint64_t word : words) differences |= word ^ slack;
  }
  return differences == 0 && std::all_of(from, to, [](uint8_t b) { return b == slack_byte; });
}

/// The first byte of a range that is no slack any more; null: none.
const uint8_t* first_damaged(const uint8_t* from, const uint8_t* to) {
  if (is_slack(from, to)) return nullptr;
  return std::find_if(from, to, [](uint8_t byte) { return byte != slack_byte; });
}

}  // namespace

GuardedBuffer::GuardedBuffer(std::string name, size_t bytes, Flush flush, size_t misalign)
    : name_(std::move(name)), bytes_(bytes) {
  const size_t inner = (bytes + misalign + page()) / page() * page();
  mapped_ = inner + 2 * page();
  mapping_ = map_between_guards(mapped_);
  if (mapping_ == nullptr) throw std::runtime_error("no memory between guard pages for " + name_);
  uint8_t* first = mapping_ + page();
  std::memset(first, slack_byte, inner);
  data_ = flush == Flush::start ? first + misalign : first + inner - misalign - bytes;
}

GuardedBuffer::~GuardedBuffer() {
  constexpr size_t most_kept = size_t{1} << 20;  // of one: larger ones are few
  if (mapped_ > most_kept) {
    unmap(mapping_, mapped_);
  } else {
    unused().emplace(mapped_, mapping_);
  }
}

void GuardedBuffer::fill(uint8_t byte) {
  std::memset(data_, byte, bytes_);
}

std::string GuardedBuffer::slack_damage() const {
  const uint8_t* damaged = first_damaged(mapping_ + page(), data_);
  if (damaged == nullptr) damaged = first_damaged(data_ + bytes_, mapping_ + mapped_ - page());
  if (damaged == nullptr) return {};
  return name_ + ": byte " + std::to_string(damaged - data_) + " was written";
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
