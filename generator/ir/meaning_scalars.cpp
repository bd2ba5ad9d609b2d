#include <fmt/format.h>

#include <stdexcept>

#include "ir/meaning_forms.h"

namespace tw {
namespace {

/// All fields are 8 bytes each, in the order of ArgField.
void argument(const Step& s, Machine& m) {
  uint64_t value = scalar(s.arg[0]) + 8 * static_cast<uint64_t>(s.imm);
  const auto field = static_cast<ArgField>(s.imm);
  if (!is_address(field)) {
    m.memory.read(value, &value, sizeof value);
  }
  set_scalar(s.to, value);
}

uint64_t divide(uint64_t a, uint64_t b) {
  if (b == 0) throw Fault("division by zero");
  return a / b;
}

uint64_t low_bits(uint64_t a, uint64_t b) {
  if (b > 255) throw Fault(fmt::format("low_bits of {}: at most 255", b));
  return b >= 64 ? a : a & ((uint64_t{1} << b) - 1);
}

void load_number(const Step& s, Machine& m) {
  uint64_t value;
  m.memory.read(scalar(s.arg[0]) + number(s), &value, sizeof value);
  set_scalar(s.to, value);
}

void store_number(const Step& s, Machine& m) {
  m.memory.write(scalar(s.arg[0]) + number(s), s.arg[1].at, sizeof(uint64_t));
}

void load_scalar(const Step& s, Machine& m) {
  uint64_t value = 0;
  m.memory.read(scalar(s.arg[0]) + number(s), &value, element(s));
  set_scalar(s.to, value);
}

void store_scalar(const Step& s, Machine& m) {
  m.memory.write(scalar(s.arg[0]) + number(s), s.arg[1].at, element(s));
}

void copy_bytes(const Step& s, Machine& m) {
  std::vector<uint8_t> bytes(scalar(s.arg[2]));
  if (bytes.empty()) return;
  if (s.imm != 0 && bytes.size() > static_cast<size_t>(s.imm)) {
    throw std::logic_error("copy_bytes copies more than it says");
  }
  m.memory.read(scalar(s.arg[1]), bytes.data(), bytes.size());
  m.memory.write(scalar(s.arg[0]), bytes.data(), bytes.size());
}

void fill_bytes(const Step& s, Machine& m) {
  const std::vector<uint8_t> bytes(scalar(s.arg[2]), static_cast<uint8_t>(scalar(s.arg[1])));
  if (!bytes.empty()) m.memory.write(scalar(s.arg[0]), bytes.data(), bytes.size());
}

void frame_store(const Step& s, Machine& m) {
  const auto slot = static_cast<size_t>(s.imm);
  m.frame[slot] = scalar(s.arg[0]);
  m.frame_written[slot] = true;
}

void frame_load(const Step& s, Machine& m) {
  const auto slot = static_cast<size_t>(s.imm);
  if (!m.frame_written[slot]) throw Fault(fmt::format("frame slot {} was never written", slot));
  set_scalar(s.to, m.frame[slot]);
}

void scratch(const Step& s, Machine& m) {
  set_scalar(s.to, m.scratch);
}

}  // namespace

void add_scalar_meanings(MeaningTable& table) {
#include "model/operations_scalars.h"
}

}  // namespace tw
