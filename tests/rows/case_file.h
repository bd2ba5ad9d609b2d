// What the writer of row tests (on the developer's machine) hands to the test (on any machine):
// operands of each row, and what the interpreter makes of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tw::test {

enum class Access : uint8_t { none, reads, writes };

/// One execution of a row.
struct RowCase {
  std::vector<uint8_t> inputs;   ///< the buffer of operands
  std::vector<uint8_t> outputs;  ///< the buffer of results; addresses count from the memory's start
  std::vector<uint8_t> before, after;  ///< the row's memory, all that it may touch
  int64_t pointer = 0;                 ///< the row's pointer, from the memory's first byte
};

/// Results that are not compared byte by byte.
struct SpecialOutput {
  uint32_t offset = 0;
  uint32_t bytes = 0;
  uint8_t float_bytes = 0;  ///< of lanes; 0: an address of 8 bytes, from the memory's first one
};

/// A row with numbers for its immediates. Functions that print it: row_table.h.
struct RowGroup {
  std::string name;
  Access access = Access::none;
  uint8_t aligned = 0;        ///< its memory must be aligned to 64 bytes
  uint32_t result_bytes = 0;  ///< of `outputs`; then the arguments, which only some functions keep
  std::vector<SpecialOutput> special;
  std::vector<RowCase> cases;
};

/// What outputs hold before a call.
constexpr uint8_t row_poison = 0xB6;

void write_groups(const std::filesystem::path& file, const std::vector<RowGroup>& groups);
/// Throws std::runtime_error when the file cannot be read to its end.
std::vector<RowGroup> read_groups(const std::filesystem::path& file);

}  // namespace tw::test
