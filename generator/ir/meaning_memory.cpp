#include <fmt/format.h>

#include "ir/meaning_forms.h"

namespace tw {
namespace {

uint64_t address(const Step& s, int pointer) {
  return scalar(s.arg[pointer]) + static_cast<uint64_t>(s.offset);
}

void nothing(const Step&, Machine&) {}

void load(const Step& s, Machine& m) {
  m.memory.read(address(s, 0), s.to.at, s.to.bytes);
}

void load_dup(const Step& s, Machine& m) {
  uint8_t one[16];
  m.memory.read(address(s, 0), one, element(s));
  for (size_t at = 0; at < s.to.bytes; at += element(s)) {
    std::memcpy(s.to.at + at, one, element(s));
  }
}

void load_lane(const Step& s, Machine& m) {
  std::memmove(s.to.at, s.arg[0].at, s.to.bytes);
  m.memory.read(address(s, 1), s.to.at + static_cast<size_t>(s.imm) * element(s), element(s));
}

void load_pred(const Step& s, Machine& m) {
  std::memset(s.to.at, 0, s.to.bytes);
  for (size_t i = 0; i < s.to.bytes / element(s); ++i) {
    if (s.arg[0].at[i] == 0) continue;
    m.memory.read(address(s, 1) + i * element(s), s.to.at + i * element(s), element(s));
  }
}

void load_pred_dup(const Step& s, Machine& m) {
  constexpr size_t segment = 16;
  uint8_t one[segment] = {};
  for (size_t i = 0; i < segment / element(s); ++i) {
    if (s.arg[0].at[i] == 0) continue;
    m.memory.read(address(s, 1) + i * element(s), one + i * element(s), element(s));
  }
  for (size_t at = 0; at < s.to.bytes; at += segment) std::memcpy(s.to.at + at, one, segment);
}

void table_load(const Step& s, Machine& m) {
  uint8_t values[16];
  m.require(Mode::nibble_table);
  m.memory.read(address(s, 0), values, sizeof values);
  for (size_t i = 0; i < 4; ++i) m.table[i] = values[4 * i];
  m.held = Machine::Table::given;
}

void table_put(const Step& s, Machine& m) {
  m.require(Mode::nibble_table);
  if (m.held != Machine::Table::put) m.pairs_put = 0;
  m.held = Machine::Table::put;
  const uint64_t both = scalar(s.arg[0]);
  m.entries[2 * s.imm] = static_cast<uint8_t>(both);
  m.entries[2 * s.imm + 1] = static_cast<uint8_t>(both >> 32);
  m.pairs_put |= 1U << s.imm;
}

void table_halves(const Step&, Machine& m) {
  m.require(Mode::nibble_table);
  m.held = Machine::Table::halves;
}

void table_raised(const Step&, Machine& m) {
  m.require(Mode::nibble_table);
  m.held = Machine::Table::raised;
}

void store(const Step& s, Machine& m) {
  m.memory.write(address(s, 0), s.arg[1].at, s.arg[1].bytes);
}

void store_stream(const Step& s, Machine& m) {
  if (address(s, 0) % s.arg[1].bytes != 0) {
    throw Fault(
        fmt::format("address {:#x} is not a multiple of {}", address(s, 0), s.arg[1].bytes));
  }
  store(s, m);
}

void store_lane(const Step& s, Machine& m) {
  m.memory.write(address(s, 0), s.arg[1].at + static_cast<size_t>(s.imm) * element(s), element(s));
}

void store_pred(const Step& s, Machine& m) {
  for (size_t i = 0; i < s.arg[2].bytes / element(s); ++i) {
    if (s.arg[0].at[i] == 0) continue;
    m.memory.write(address(s, 1) + i * element(s), s.arg[2].at + i * element(s), element(s));
  }
}

}  // namespace

void add_memory_meanings(MeaningTable& table) {
#include "model/operations_memory.h"
}

}  // namespace tw
