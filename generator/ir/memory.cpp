#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "ir/interpreter.h"

namespace tw {
namespace {

// Each region starts in a 64 GiB slot of its own, so that an address that runs away from its region
// by less than half of that still tells which region was meant.
constexpr int slot_shift = 36;

uint64_t slot_start(size_t index) {
  return (uint64_t{index} + 1) << slot_shift;
}

/// Index of the region that is meant by `address`; wraps to a huge number for address 0.
size_t slot_of(uint64_t address) {
  return ((address + (uint64_t{1} << (slot_shift - 1))) >> slot_shift) - 1;
}

}  // namespace

uint64_t Memory::add_area(std::string name, std::vector<uint8_t> bytes, bool given, bool writable,
                          int misalign) {
  uint64_t address = slot_start(areas_.size()) + static_cast<uint64_t>(misalign);
  size_t n = bytes.size();
  areas_.push_back({std::move(name), address, std::move(bytes), std::vector<bool>(n, given),
                    given ? 0 : n, writable});
  return address;
}

uint64_t Memory::add(std::string name, std::vector<uint8_t> bytes, bool writable, int misalign) {
  return add_area(std::move(name), std::move(bytes), true, writable, misalign);
}

uint64_t Memory::add_unwritten(std::string name, size_t bytes, int misalign) {
  return add_area(std::move(name), std::vector<uint8_t>(bytes, 0xCD), false, true, misalign);
}

void Memory::remove_last() {
  areas_.pop_back();
}

const Memory::Area& Memory::area(uint64_t address, size_t n, const char* access) const {
  size_t index = slot_of(address);
  if (index >= areas_.size()) {
    throw Fault(
        fmt::format("{} of {} bytes at address {:#x}: no region is there", access, n, address));
  }
  const Area& area = areas_[index];
  auto offset = static_cast<int64_t>(address - area.address);
  auto size = static_cast<int64_t>(area.bytes.size());
  if (offset < 0 || offset + static_cast<int64_t>(n) > size) {
    throw Fault(fmt::format("{} of {} bytes at {}{:+}: the region has {} bytes", access, n,
                            area.name, offset, size));
  }
  return area;
}

const std::vector<uint8_t>& Memory::bytes(uint64_t address) const {
  return area(address, 0, "look").bytes;
}

const std::vector<bool>& Memory::written(uint64_t address) const {
  return area(address, 0, "look").written;
}

void Memory::read(uint64_t address, void* to, size_t n) const {
  const Area& from = area(address, n, "read");
  size_t offset = address - from.address;
  if (from.missing > 0) {
    for (size_t i = offset; i < offset + n; ++i) {
      if (from.written[i]) continue;
      throw Fault(fmt::format("read of {} bytes at {}+{}: byte {} was never written", n, from.name,
                              offset, i));
    }
  }
  std::memcpy(to, from.bytes.data() + offset, n);
}

void Memory::write(uint64_t address, const void* from, size_t n) {
  auto& to = const_cast<Area&>(area(address, n, "write"));  // `this` is not const here
  size_t offset = address - to.address;
  if (!to.writable) {
    throw Fault(
        fmt::format("write of {} bytes at {}+{}: the region is read-only", n, to.name, offset));
  }
  std::memcpy(to.bytes.data() + offset, from, n);
  if (to.missing == 0) return;
  auto first = to.written.begin() + static_cast<std::ptrdiff_t>(offset);
  auto last = first + static_cast<std::ptrdiff_t>(n);
  to.missing -= static_cast<size_t>(std::count(first, last, false));
  std::fill(first, last, true);
}

}  // namespace tw
