// Values of ggml's types whose codes are numbers of rows of a grid, told byte by byte, with grids
// of our own making: nothing but ggml knows its. Shares no code with the plug-in.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "reference/half_reference.h"

namespace tw::test {

inline bool has_grid(const std::string& type) {
  return type.rfind("iq1_", 0) == 0 || type.rfind("iq2_", 0) == 0 || type.rfind("iq3_", 0) == 0;
}

/// Value i of a row: digits of multiples of a prime number, so that no two rows are the same.
inline float grid_value(const std::string& type, size_t row, size_t i) {
  const bool is_iq3 = type[2] == '3';
  const size_t base = is_iq3 ? 8 : 3;
  size_t digits = row * 1009 % (is_iq3 ? 4096 : 6561);
  for (; i > 0; --i) digits /= base;
  const size_t digit = digits % base;
  if (type[2] == '1') return static_cast<float>(digit) - 1;
  if (type[2] == '2') return digit == 0 ? 8 : digit == 1 ? 25 : 43;
  if (type == "iq3_s") return static_cast<float>(2 * digit + 1);
  return digit == 7 ? 62 : static_cast<float>(8 * digit + 4);
}

/// One block of 256 values.
class GridBlock {
 public:
  GridBlock(const std::string& type, const uint8_t* at) : type_(type), at_(at) {}

  [[nodiscard]] std::vector<float> values() const {
    std::vector<float> all;
    for (size_t group = 0; group < 32; ++group) add_group(group, all);
    return all;
  }

  /// Sets the scale of all.
  static void set_d(const std::string& type, uint16_t half, uint8_t* at) {
    if (type != "iq1_m") {
      std::memcpy(at, &half, sizeof half);
      return;
    }
    for (size_t i = 0; i < 4; ++i) {
      uint8_t& byte = at[49 + 2 * i];
      byte = static_cast<uint8_t>((byte & 15) | (half >> 4 * i & 15) << 4);
    }
  }

 private:
  [[nodiscard]] unsigned half(size_t byte) const { return at_[byte] | at_[byte + 1] << 8; }
  [[nodiscard]] unsigned word(size_t byte) const { return half(byte) | half(byte + 2) << 16; }
  [[nodiscard]] unsigned nibble(size_t byte, size_t i) const {
    return at_[byte + i / 2] >> i % 2 * 4 & 15U;
  }

  [[nodiscard]] float d() const {
    unsigned bits = half(0);
    if (type_ == "iq1_m") {
      bits = 0;
      for (size_t i = 0; i < 4; ++i) bits |= half(48 + 2 * i) >> 12 << 4 * i;
    }
    return half_value(static_cast<uint16_t>(bits));
  }

  [[nodiscard]] float scale(size_t group) const {
    const auto steps = [](unsigned s) { return static_cast<float>(s); };
    if (type_ == "iq3_s") return d() * (1 + 2 * steps(nibble(106, group / 4)));
    if (type_ == "iq3_xxs") return d() * (0.5F + steps(word(66 + group / 4 * 4) >> 28)) * 0.5F;
    if (type_ == "iq2_xxs") return d() * (0.5F + steps(word(6 + group / 4 * 8) >> 28)) * 0.25F;
    if (type_ == "iq2_xs") return d() * (0.5F + steps(nibble(66, group / 2))) * 0.25F;
    if (type_ == "iq2_s") return d() * (0.5F + steps(nibble(74, group / 2))) * 0.25F;
    if (type_ == "iq1_s") return d() * (1 + 2 * steps(half(34 + group / 4 * 2) >> 12 & 7));
    return d() * (1 + 2 * steps(half(48 + group / 8 * 2) >> group / 2 % 4 * 3 & 7));
  }

  /// Of the group's, or of its half's.
  [[nodiscard]] size_t row(size_t group, size_t part) const {
    const size_t i = group % 4;
    if (type_ == "iq3_s") {
      return at_[2 + 2 * group + part] | (at_[66 + group / 4] >> (2 * i + part) & 1U) << 8;
    }
    if (type_ == "iq3_xxs") return at_[2 + 2 * group + part];
    if (type_ == "iq2_xxs") return at_[2 + group / 4 * 8 + i];
    if (type_ == "iq2_xs") return half(2 + 2 * group) & 511;
    if (type_ == "iq2_s") return at_[2 + group] | (at_[66 + group / 4] >> 2 * i & 3U) << 8;
    if (type_ == "iq1_s") {
      return at_[2 + group] | (half(34 + group / 4 * 2) >> 3 * i & 7) << 8;
    }
    return at_[group] | (nibble(32, group) & 7) << 8;
  }

  [[nodiscard]] bool is_negative(size_t group, size_t i) const {
    if (type_ == "iq3_s") return (at_[74 + group] >> i & 1) != 0;
    if (type_ == "iq2_s") return (at_[34 + group] >> i & 1) != 0;
    const unsigned seven = type_ == "iq2_xs"    ? half(2 + 2 * group) >> 9
                           : type_ == "iq3_xxs" ? word(66 + group / 4 * 4) >> 7 * (group % 4) & 127
                                                : word(6 + group / 4 * 8) >> 7 * (group % 4) & 127;
    if (i < 7) return (seven >> i & 1) != 0;
    bool odd = false;
    for (size_t bit = 0; bit < 7; ++bit) odd ^= (seven >> bit & 1) != 0;
    return odd;
  }

  [[nodiscard]] float moved(size_t group) const {
    const bool less =
        type_ == "iq1_s" ? (half(34 + group / 4 * 2) & 0x8000) != 0 : (nibble(32, group) & 8) != 0;
    return less ? -0.125F : 0.125F;
  }

  void add_group(size_t group, std::vector<float>& all) const {
    for (size_t i = 0; i < 8; ++i) {
      const bool fours = type_[2] == '3';
      const float held =
          fours ? grid_value(type_, row(group, i / 4), i % 4) : grid_value(type_, row(group, 0), i);
      if (type_[2] == '1') {
        all.push_back(scale(group) * (held + moved(group)));
      } else {
        all.push_back(scale(group) * (is_negative(group, i) ? -held : held));
      }
    }
  }

  std::string type_;
  const uint8_t* at_;
};

}  // namespace tw::test
