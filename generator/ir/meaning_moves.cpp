#include <fmt/format.h>

#include "ir/meaning_forms.h"

namespace tw {
namespace {

/// Values of any kind: results of instruction rows are moved by it.
void copy(const Step& s, Machine&) {
  std::memmove(s.to.at, s.arg[0].at, s.to.bytes);
}

/// Puts the element at `from` everywhere.
void everywhere(const Step& s, const uint8_t* from, uint8_t* to) {
  for (size_t at = 0; at + element(s) <= s.to.bytes; at += element(s)) {
    std::memcpy(to + at, from, element(s));
  }
}

/// Interleaves halves of segments; `half` 0: the low ones.
void zip(const Step& s, size_t half, uint8_t* to) {
  for (size_t segment = 0; segment < s.to.bytes; segment += 16) {
    for (size_t i = 0; i < 8 / element(s); ++i) {
      const size_t from = segment + 8 * half + i * element(s);
      std::memcpy(to + segment + 2 * i * element(s), s.arg[0].at + from, element(s));
      std::memcpy(to + segment + (2 * i + 1) * element(s), s.arg[1].at + from, element(s));
    }
  }
}

void unzip(const Step& s, size_t first, uint8_t* to) {
  const size_t half = s.to.bytes / element(s) / 2;
  for (size_t i = 0; i < half; ++i) {
    const size_t from = (2 * i + first) * element(s);
    std::memcpy(to + i * element(s), s.arg[0].at + from, element(s));
    std::memcpy(to + (half + i) * element(s), s.arg[1].at + from, element(s));
  }
}

void twice(const Step& s, uint8_t* to) {
  const size_t half = static_cast<size_t>(s.imm) * s.to.bytes / 2;
  for (size_t at = 0; at < s.to.bytes; at += element(s)) {
    const size_t lane = at / element(s) / 2;
    std::memcpy(to + at, s.arg[0].at + half + lane * element(s), element(s));
  }
}

void move_segments(const Step& s, uint8_t* to) {
  const size_t count = s.to.bytes / 16;
  const size_t bits = count / 2;  // that choose one of them
  for (size_t i = 0; i < count; ++i) {
    const size_t from = (static_cast<size_t>(s.imm) >> (bits * i)) & (count - 1);
    std::memcpy(to + 16 * i, s.arg[i / bits].at + 16 * from, 16);
  }
}

void blend(const Step& s, uint8_t* to) {
  for (size_t lane = 0; lane < s.to.bytes / element(s); ++lane) {
    const size_t at = lane * element(s);
    std::memcpy(to + at, s.arg[s.imm >> lane & 1].at + at, element(s));
  }
}

/// Makes `lanes` of as many codes of some bits, the lowest first, of the part that #i tells.
template <typename F>
void decode(const Step& s, size_t bits, size_t lanes, F&& decoded) {
  uint8_t to[longest_vector];
  const size_t per_byte = 8 / bits;
  for (size_t i = 0; i < lanes; ++i) {
    const size_t at = static_cast<size_t>(s.imm) * lanes + i;
    const int byte = s.arg[0].at[at / per_byte];
    put(to, i, decoded(byte >> (at % per_byte * bits) & ((1 << bits) - 1)));
  }
  std::memcpy(s.to.at, to, s.to.bytes);
}

void nibbles(const Step& s, Machine&) {
  decode(s, 4, s.to.bytes, [](int code) { return static_cast<uint8_t>((code ^ 8) - 8); });
}

void raised_nibbles(const Step& s, Machine& m) {
  if (m.held != Machine::Table::raised) throw Fault("the table is not that of raised nibbles");
  decode(s, 4, s.to.bytes, [](int code) { return static_cast<uint8_t>(code - 8); });
}

void table_nibbles(const Step& s, Machine& m) {
  if (m.held != Machine::Table::put || m.pairs_put != 0xff) throw Fault("no table was put");
  decode(s, 4, s.to.bytes, [&](int code) { return m.entries[code]; });
}

void table_values(const Step& s, Machine& m) {
  const bool was_put = m.held == Machine::Table::put && (m.pairs_put & 3) == 3;
  if (m.held != Machine::Table::given && !was_put) throw Fault("no table was loaded");
  const uint8_t* const table = was_put ? &m.entries[0] : &m.table[0];
  decode(s, 2, s.to.bytes, [&](int code) { return table[code]; });
}

void nibble_halves(const Step& s, Machine& m) {
  if (m.held != Machine::Table::halves) throw Fault("the table is not that of halves");
  decode(s, 4, s.to.bytes / 2,
         [](int code) { return float_to_half(static_cast<float>(code - 8)); });
}

/// Of a table of 16: what ISAs make of other numbers differs.
size_t below_16(uint8_t number) {
  if (number < 16) return number;
  throw Fault(fmt::format("number {} of a table of 16", number));
}

void look_up(const Step& s, uint8_t* to) {
  for (size_t i = 0; i < s.to.bytes; ++i) {
    to[i] = s.arg[0].at[i / 16 * 16 + below_16(s.arg[1].at[i])];
  }
}

void look_up_or_zero(const Step& s, uint8_t* to) {
  for (size_t i = 0; i < s.to.bytes; ++i) {
    const uint8_t number = s.arg[1].at[i];
    to[i] = number < 16 ? s.arg[0].at[i / 16 * 16 + number] : uint8_t{0};
  }
}

void look_up_lanes(const Step& s, uint8_t* to) {
  for (size_t i = 0; i < s.to.bytes; ++i) {
    const size_t number = below_16(s.arg[4].at[i]);
    to[i] = s.arg[number / 4].at[i / 4 * 4 + number % 4];
  }
}

void look_up_32(const Step& s, uint8_t* to) {
  const size_t lanes = s.to.bytes / 4;  // a power of two
  for (size_t i = 0; i < lanes; ++i) {
    uint32_t number = 0;
    std::memcpy(&number, s.arg[1].at + 4 * i, sizeof number);
    std::memcpy(to + 4 * i, s.arg[0].at + number % lanes * 4, 4);
  }
}

void permute_64(const Step& s, uint8_t* to) {
  for (size_t lane = 0; lane < s.to.bytes / 8; ++lane) {
    const size_t from = lane / 4 * 4 + (static_cast<size_t>(s.imm) >> (2 * (lane % 4)) & 3);
    std::memcpy(to + 8 * lane, s.arg[0].at + 8 * from, 8);
  }
}

}  // namespace

void add_move_meanings(MeaningTable& table) {
#include "model/operations_moves.h"
}

}  // namespace tw
