#include "integrations/ggml/flat.h"

#include <array>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>

#include "integrations/ggml/get_rows.h"
#include "integrations/ggml/ggml_abi.h"
#include "integrations/ggml/grids.h"

namespace tw::ggml {

namespace {

/// TQ1_0: numbers from 0 to 2 are digits to the base 3 of a fraction, whose 256ths, rounded up, are
/// a byte. Blocks of 256 have 48 bytes of five digits, 4 of four, and d.
constexpr size_t kDigits = 5, kBytesOfFive = 48, kCodeBytes = 52, kBlockBytes = 54;
constexpr size_t kFlatBytes = 66;  ///< TQ2_0's
constexpr size_t kBlock = 256;

using Digits = std::array<uint8_t, kDigits>;

Digits digits_of(uint8_t byte) {
  Digits digits;
  unsigned fraction = byte;
  for (uint8_t& digit : digits) {
    digit = static_cast<uint8_t>(3 * fraction >> 8);
    fraction = 3 * fraction & 0xff;
  }
  return digits;
}

uint8_t byte_of(const Digits& digits) {
  unsigned number = 0;
  for (const uint8_t digit : digits) number = 3 * number + digit;
  return static_cast<uint8_t>((256 * number + 242) / 243);
}

/// The first value of a byte's, and how far apart those are: of 32, 16 and 4 bytes.
struct OfByte {
  size_t first, apart, count;
};
OfByte values_of(size_t byte) {
  if (byte < 32) return {byte, 32, kDigits};
  if (byte < kBytesOfFive) return {160 + byte - 32, 16, kDigits};
  return {240 + byte - kBytesOfFive, 4, kDigits - 1};
}

/// In TQ2_0's blocks values 32 apart share a byte.
uint8_t& flat_byte(uint8_t* flat, size_t value) {
  return flat[value / 128 * 32 + value % 32];
}
size_t shift_of(size_t value) {
  return value / 32 % 4 * 2;
}

void flatten_ternary(size_t k, const uint8_t* row, uint8_t* flat) {
  for (size_t i = 0; i < k / kBlock; ++i, row += kBlockBytes, flat += kFlatBytes) {
    std::memset(flat, 0, kFlatBytes);
    for (size_t byte = 0; byte < kCodeBytes; ++byte) {
      const Digits digits = digits_of(row[byte]);
      const OfByte values = values_of(byte);
      for (size_t digit = 0; digit < values.count; ++digit) {
        const size_t value = values.first + digit * values.apart;
        uint8_t& at = flat_byte(flat, value);
        at = static_cast<uint8_t>(at | digits[digit] << shift_of(value));
      }
    }
    std::memcpy(flat + kFlatBytes - 2, row + kCodeBytes, 2);
  }
}

/// What a byte's fifth digit was, where values have four, is lost: ggml writes 0.
void unflatten_ternary(size_t k, const uint8_t* flat, uint8_t* row) {
  for (size_t i = 0; i < k / kBlock; ++i, row += kBlockBytes, flat += kFlatBytes) {
    uint8_t codes[kFlatBytes];
    std::memcpy(codes, flat, kFlatBytes);
    for (size_t byte = 0; byte < kCodeBytes; ++byte) {
      Digits digits{};
      const OfByte values = values_of(byte);
      for (size_t digit = 0; digit < values.count; ++digit) {
        const size_t value = values.first + digit * values.apart;
        digits[digit] = flat_byte(codes, value) >> shift_of(value) & 3;
      }
      row[byte] = byte_of(digits);
    }
    std::memcpy(row + kCodeBytes, codes + kFlatBytes - 2, 2);
  }
}

std::shared_ptr<const FlatForm> make_flat_form(int32_t type) {
  if (type == type_tq1_0) {
    return std::make_shared<FlatForm>(FlatForm{flatten_ternary, unflatten_ternary});
  }
  ToFloats* to_floats = find_to_floats(type);
  return to_floats != nullptr ? read_grid(type, to_floats) : nullptr;
}

}  // namespace

const FlatForm* find_flat_form(int32_t type) {
  static std::mutex mutex;
  static std::map<int32_t, std::shared_ptr<const FlatForm>> known;
  const std::lock_guard lock(mutex);
  const auto [at, is_new] = known.try_emplace(type);
  if (is_new) at->second = make_flat_form(type);
  return at->second.get();
}

}  // namespace tw::ggml
