// What codes of 4 bits, 3 or 1 stand for, by the name that layouts have for it: ggml's and the
// OCP's tables, written from their definitions. Of 2 bits that which tests give.
#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace tw::test {

struct CodeValues {
  int8_t values[16];
  float unit;               ///< that values are numbers of
  const char* scales = "";  ///< all that files have of their scales; empty: what layouts keep
  int count = 16;           ///< of values

  /// A code that stands for it; of two the one that `which` says, an even or an odd number.
  [[nodiscard]] int code_of(int value, size_t which = 0) const {
    int found = -1;
    for (int code = 0; code < count; ++code) {
      if (values[code] != value) continue;
      if (found >= 0 && which % 2 == 0) return found;
      found = code;
    }
    if (found < 0) throw std::invalid_argument("no code for " + std::to_string(value));
    return found;
  }
};

/// null: codes are numbers.
inline const CodeValues* code_values(const std::string& name) {
  static const CodeValues iq4{
      {-127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113}, 1};
  static const CodeValues e2m1{{0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}, 0.5F};
  // Behind scales of E4M3, which as bits of f16 are 2^-8 of what they are.
  static const CodeValues nv4{
      {0, 1, 2, 3, 4, 6, 8, 12, 0, -1, -2, -3, -4, -6, -8, -12}, 128, "e5m3"};
  // What rows of ggml's grids hold, with and without a sign.
  static const CodeValues iq3s{{1, 3, 5, 7, 9, 11, 13, 15, -1, -3, -5, -7, -9, -11, -13, -15}, 1};
  static const CodeValues iq3x{
      {4, 12, 20, 28, 36, 44, 52, 62, -4, -12, -20, -28, -36, -44, -52, -62}, 0.25F};
  static const CodeValues iq2{{8, 25, 43, 0, -8, -25, -43, 0}, 0.125F, "", 8};
  static const CodeValues iq1{{1, 7, 9, 0, -1, -7, -9, 0}, 0.125F, "", 8};
  static const CodeValues signs{{-1, 1}, 1, "", 2};
  static const CodeValues given{
      {-61, 5, 90, -128, -61, 5, 90, -128, -61, 5, 90, -128, -61, 5, 90, -128}, 1};
  if (name.empty()) return nullptr;
  if (name == "given") return &given;
  if (name == "nv4") return &nv4;
  if (name == "signs") return &signs;
  if (name == "iq1") return &iq1;
  if (name == "iq2") return &iq2;
  if (name == "iq3s") return &iq3s;
  if (name == "iq3x") return &iq3x;
  if (name != "iq4" && name != "e2m1") throw std::invalid_argument("table " + name);
  return name == "iq4" ? &iq4 : &e2m1;
}

}  // namespace tw::test
