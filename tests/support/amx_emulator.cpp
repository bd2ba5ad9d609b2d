#include "support/amx_emulator.h"

#if defined(__linux__) && defined(__x86_64__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <ucontext.h>
#include <unistd.h>

#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <utility>

namespace tw::test {
namespace {

constexpr int tile_count = 8;
constexpr int most_rows = 16;
constexpr int most_bytes = 64;

struct Tile {
  int rows = 0, bytes = 0;  ///< bytes: of a row
  uint8_t data[most_rows][most_bytes] = {};
};

/// What the CPU would hold of a thread.
struct State {
  int palette = 0;  ///< 0: no tiles
  int start_row = 0;
  Tile tiles[tile_count];
};
thread_local State state;
thread_local int split_rows = 0;

// Numbers of general registers in instructions.
constexpr int registers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP,
                             REG_RSI, REG_RDI, REG_R8,  REG_R9,  REG_R10, REG_R11,
                             REG_R12, REG_R13, REG_R14, REG_R15};

enum Prefix { no_prefix, prefix_66, prefix_f3, prefix_f2 };

/// An instruction in VEX with three bytes, of opcode map 0F38, W 0 and 128 bits.
struct Instruction {
  int opcode = 0;
  Prefix prefix = no_prefix;
  int reg = 0, rm = 0, vvvv = 0;  ///< numbers of registers
  bool in_memory = false, has_index = false;
  uint64_t base = 0, index = 0;  ///< of memory: the displacement is part of the base
  const uint8_t* end = nullptr;
};

class Decoder {
 public:
  Decoder(const greg_t* values, const uint8_t* at) : values_(values), at_(at) {}

  bool decode(Instruction& to) {
    if (*at_++ != 0xC4) return false;
    const int first = *at_++;
    const int second = *at_++;
    if ((first & 0x1F) != 2 || (second & 0x84) != 0) return false;
    extend_reg_ = (~first >> 7 & 1) * 8;
    extend_index_ = (~first >> 6 & 1) * 8;
    extend_base_ = (~first >> 5 & 1) * 8;
    to.vvvv = ~second >> 3 & 15;
    to.prefix = static_cast<Prefix>(second & 3);
    to.opcode = *at_++;
    const int modrm = *at_++;
    to.reg = (modrm >> 3 & 7) + extend_reg_;
    to.rm = (modrm & 7) + extend_base_;
    to.in_memory = modrm >> 6 != 3;
    if (to.in_memory) address(modrm >> 6, modrm & 7, to);
    to.end = at_;
    return true;
  }

 private:
  void address(int mode, int rm, Instruction& to) {
    bool no_base = mode == 0 && rm == 5;  // relative to the next instruction
    const bool relative = no_base;
    if (rm == 4) {
      const int sib = *at_++;
      const int index = (sib >> 3 & 7) + extend_index_;
      to.has_index = true;
      if (index != 4) to.index = value(index) << (sib >> 6);
      no_base = mode == 0 && (sib & 7) == 5;
      if (!no_base) to.base = value((sib & 7) + extend_base_);
    } else if (!no_base) {
      to.base = value(rm + extend_base_);
    }
    if (mode == 1) {
      to.base += static_cast<uint64_t>(static_cast<int64_t>(static_cast<int8_t>(*at_++)));
    } else if (mode == 2 || no_base) {
      int32_t displacement = 0;
      std::memcpy(&displacement, at_, sizeof displacement);
      at_ += sizeof displacement;
      to.base += static_cast<uint64_t>(static_cast<int64_t>(displacement));
    }
    if (relative) to.base += reinterpret_cast<uint64_t>(at_);
  }

  [[nodiscard]] uint64_t value(int number) const {
    return static_cast<uint64_t>(values_[registers[number]]);
  }

  const greg_t* values_;
  const uint8_t* at_;
  int extend_reg_ = 0, extend_index_ = 0, extend_base_ = 0;
};

/// Whether all of these bytes of a table of shapes are 0.
bool zeros(const uint8_t* table, int begin, int end) {
  for (int i = begin; i < end; ++i) {
    if (table[i] != 0) return false;
  }
  return true;
}

/// LDTILECFG; false where it faults.
bool load_shapes(const uint8_t* table) {
  State next;
  next.palette = table[0];
  next.start_row = table[1];
  if (next.palette == 0) {
    state = {};
    return true;
  }
  const bool reserved = zeros(table, 2, 16) && zeros(table, 32, 48) && zeros(table, 56, 64);
  if (next.palette != 1 || !reserved) return false;
  for (int i = 0; i < tile_count; ++i) {
    Tile& tile = next.tiles[i];
    uint16_t bytes = 0;
    std::memcpy(&bytes, table + 16 + 2 * i, sizeof bytes);
    tile.bytes = bytes;
    tile.rows = table[48 + i];
    if (tile.bytes > most_bytes || tile.rows > most_rows) return false;
    if ((tile.bytes == 0) != (tile.rows == 0)) return false;
  }
  state = next;
  return true;
}

Tile* tile_at(int number) {
  if (state.palette == 0 || number >= tile_count) return nullptr;
  Tile* const tile = &state.tiles[number];
  return tile->rows != 0 ? tile : nullptr;
}

bool clear(int number) {
  Tile* const tile = tile_at(number);
  if (tile != nullptr) std::memset(tile->data, 0, sizeof tile->data);
  return tile != nullptr;
}

/// TILELOADD: what lies beyond the shape becomes 0. Rows are read where they are, so that memory
/// which is not there faults as it would natively.
bool load(const Instruction& i) {
  Tile* const tile = tile_at(i.reg);
  if (tile == nullptr || !i.has_index || state.start_row != 0) return false;
  for (int row = 0; row < most_rows; ++row) {
    uint8_t* const to = tile->data[row];
    std::memset(to, 0, most_bytes);
    if (row >= tile->rows) continue;
    const uint64_t from = i.base + static_cast<uint64_t>(row) * i.index;
    std::memcpy(to, reinterpret_cast<const void*>(from), static_cast<size_t>(tile->bytes));
  }
  return true;
}

bool store(const Instruction& i) {
  const Tile* const tile = tile_at(i.reg);
  if (tile == nullptr || !i.has_index || state.start_row != 0) return false;
  for (int row = 0; row < tile->rows; ++row) {
    const uint64_t to = i.base + static_cast<uint64_t>(row) * i.index;
    std::memcpy(reinterpret_cast<void*>(to), tile->data[row], static_cast<size_t>(tile->bytes));
    if (to / 64 != (to + static_cast<uint64_t>(tile->bytes) - 1) / 64) ++split_rows;
  }
  return true;
}

/// A product needs its operands' shapes to fit, and three tiles.
bool fit(const Tile* sums, const Tile* a, const Tile* b) {
  if (sums == nullptr || a == nullptr || b == nullptr || state.start_row != 0) return false;
  if (sums == a || sums == b || a == b) return false;
  if (sums->bytes % 4 != 0 || a->bytes % 4 != 0 || b->bytes % 4 != 0) return false;
  return sums->rows == a->rows && sums->bytes == b->bytes && a->bytes / 4 == b->rows;
}

/// TDPB..D: `reg` += `rm` x `vvvv`, whose bytes are signed or not.
bool multiply(const Instruction& i, bool signed_a, bool signed_b) {
  Tile* const sums = tile_at(i.reg);
  const Tile* const a = tile_at(i.rm);
  const Tile* const b = tile_at(i.vvvv);
  if (!fit(sums, a, b)) return false;
  for (int m = 0; m < sums->rows; ++m) {
    uint32_t row[most_bytes / 4];
    std::memcpy(row, sums->data[m], sizeof row);
    for (int k = 0; k < a->bytes / 4; ++k) {
      for (int n = 0; n < sums->bytes / 4; ++n) {
        for (int j = 0; j < 4; ++j) {
          const int x = a->data[m][4 * k + j];
          const int y = b->data[k][4 * n + j];
          row[n] += static_cast<uint32_t>((signed_a ? static_cast<int8_t>(x) : x) *
                                          (signed_b ? static_cast<int8_t>(y) : y));
        }
      }
    }
    std::memset(sums->data[m], 0, most_bytes);
    std::memcpy(sums->data[m], row, static_cast<size_t>(sums->bytes));
  }
  for (int m = sums->rows; m < most_rows; ++m) std::memset(sums->data[m], 0, most_bytes);
  return true;
}

float float_of(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

/// Denormal numbers are read and written as 0 of their sign.
float flushed(float value) {
  return std::fpclassify(value) == FP_SUBNORMAL ? std::copysign(0.0F, value) : value;
}

float float_at(const uint8_t* row, int column) {
  uint32_t bits = 0;
  std::memcpy(&bits, row + 4 * column, sizeof bits);
  return flushed(float_of(bits));
}

/// A number of bf16: the upper half of f32's bits.
float half_at(const uint8_t* row, int number) {
  uint16_t bits = 0;
  std::memcpy(&bits, row + 2 * number, sizeof bits);
  return flushed(float_of(static_cast<uint32_t>(bits) << 16));
}

/// TDPBF16PS: even and odd values of k have sums of their own until a row is through.
bool multiply_floats(const Instruction& i) {
  Tile* const sums = tile_at(i.reg);
  const Tile* const a = tile_at(i.rm);
  const Tile* const b = tile_at(i.vvvv);
  if (!fit(sums, a, b)) return false;
  for (int m = 0; m < sums->rows; ++m) {
    float row[most_bytes / 4] = {};
    for (int n = 0; n < sums->bytes / 4; ++n) {
      float even = 0;
      float odd = 0;
      for (int k = 0; k < b->rows; ++k) {
        even = flushed(std::fma(half_at(a->data[m], 2 * k), half_at(b->data[k], 2 * n), even));
        odd =
            flushed(std::fma(half_at(a->data[m], 2 * k + 1), half_at(b->data[k], 2 * n + 1), odd));
      }
      row[n] = flushed(float_at(sums->data[m], n) + flushed(even + odd));
    }
    std::memset(sums->data[m], 0, most_bytes);
    std::memcpy(sums->data[m], row, static_cast<size_t>(sums->bytes));
  }
  for (int m = sums->rows; m < most_rows; ++m) std::memset(sums->data[m], 0, most_bytes);
  return true;
}

bool execute(const Instruction& i) {
  switch (i.opcode) {
    case 0x49:
      if (i.vvvv != 0) return false;
      if (i.prefix == prefix_f2) return !i.in_memory && i.rm == 0 && clear(i.reg);
      if (i.prefix != no_prefix || i.reg != 0) return false;
      if (i.in_memory) return load_shapes(reinterpret_cast<const uint8_t*>(i.base + i.index));
      if (i.rm != 0) return false;
      state = {};  // tilerelease
      return true;
    case 0x4B:
      if (i.vvvv != 0 || !i.in_memory) return false;
      if (i.prefix == prefix_f3) return store(i);
      return (i.prefix == prefix_f2 || i.prefix == prefix_66) && load(i);
    case 0x5C:
      return !i.in_memory && i.prefix == prefix_f3 && multiply_floats(i);
    case 0x5E: {
      if (i.in_memory) return false;
      const bool signed_a = i.prefix == prefix_f2 || i.prefix == prefix_f3;
      const bool signed_b = i.prefix == prefix_f2 || i.prefix == prefix_66;
      return multiply(i, signed_a, signed_b);
    }
    default:
      return false;
  }
}

/// The bits that CPUID and XCR0 have for tiles, then Linux' word.
bool are_native() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(1, 0, &eax, &ebx, &ecx, &edx) == 0 || (ecx >> 27 & 1) == 0) return false;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0 || (edx >> 24 & 3) != 3 ||
      (edx >> 22 & 1) == 0) {
    return false;
  }
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return (low >> 17 & 3) == 3 && syscall(SYS_arch_prctl, 0x1023, 18) == 0;
}

/// XCR0 and XINUSE: bit 17 is shapes. Bit 18, what tiles hold, may be clear while that is zeros.
bool in_use() {
  uint32_t low = 0, high = 0;
  __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(1));
  return (low >> 17 & 1) != 0;
}

}  // namespace

Tiles tiles_here() {
  static const Tiles found = are_native()                                ? Tiles::native
                             : __builtin_cpu_supports("avx512vnni") != 0 ? Tiles::emulated
                                                                         : Tiles::none;
  return found;
}

bool emulate_tiles(void* context) {
  if (tiles_here() != Tiles::emulated) return false;
  greg_t* const values = static_cast<ucontext_t*>(context)->uc_mcontext.gregs;
  Instruction instruction;
  Decoder decoder(values, reinterpret_cast<const uint8_t*>(values[REG_RIP]));
  if (!decoder.decode(instruction) || !execute(instruction)) return false;
  values[REG_RIP] = reinterpret_cast<greg_t>(instruction.end);
  return true;
}

static struct sigaction behind_ours;

static void on_trap(int signal_number, siginfo_t* info, void* context) {
  if (emulate_tiles(context)) return;
  if ((behind_ours.sa_flags & SA_SIGINFO) != 0) {
    behind_ours.sa_sigaction(signal_number, info, context);
  } else {  // trap again, and die of it
    std::signal(signal_number, SIG_DFL);
  }
}

void install_tiles() {
  static const bool installed = [] {
    if (tiles_here() != Tiles::emulated) return false;
    struct sigaction action = {};
    action.sa_sigaction = on_trap;
    action.sa_flags = SA_SIGINFO;
    return sigaction(SIGILL, &action, &behind_ours) == 0;
  }();
  (void)installed;
}

bool release_tiles() {
  if (tiles_here() == Tiles::native) {
    const bool used = in_use();
    if (used) __asm__ volatile(".byte 0xc4, 0xe2, 0x78, 0x49, 0xc0");  // tilerelease
    return used;
  }
  const bool used = state.palette != 0;
  state = {};
  return used;
}

int take_split_rows() {
  return std::exchange(split_rows, 0);
}

}  // namespace tw::test
#else
namespace tw::test {

Tiles tiles_here() {
  return Tiles::none;
}

bool emulate_tiles(void* /*context*/) {
  return false;
}

void install_tiles() {}

bool release_tiles() {
  return false;
}

int take_split_rows() {
  return 0;
}

}  // namespace tw::test
#endif
