// Executes any Program of any ISA on the developer's machine. The oracle: it shares no code with
// the C++ reference in tests/ and runs a Program after every stage, on virtual registers or, once
// allocated, on physical ones (where a wrongly shared register gives a wrong result).
// What each operation computes stands in its row of the operation list (model/operation.h).
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include "ir/program.h"

namespace tw {

/// A memory access outside of every region, a write to a read-only one, a read of bytes nobody
/// wrote, an immediate out of range, a missing mode.
struct Fault : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Memory as the Program sees it: separate regions with room between them.
class Memory {
 public:
  /// Adds a region; returns its address (64-byte aligned + `misalign`).
  uint64_t add(std::string name, std::vector<uint8_t> bytes, bool writable, int misalign = 0);
  /// A writable region of which every byte counts as unwritten.
  uint64_t add_unwritten(std::string name, size_t bytes, int misalign = 0);
  [[nodiscard]] const std::vector<uint8_t>& bytes(uint64_t address) const;
  /// True for each byte that was given or has been written.
  [[nodiscard]] const std::vector<bool>& written(uint64_t address) const;

  void read(uint64_t address, void* to, size_t n) const;     ///< throws Fault
  void write(uint64_t address, const void* from, size_t n);  ///< throws Fault
  void remove_last();  ///< the region that was added last; its address may be given again

 private:
  struct Area {
    std::string name;
    uint64_t address;
    std::vector<uint8_t> bytes;
    std::vector<bool> written;
    size_t missing;  ///< bytes not yet written
    bool writable;
  };
  uint64_t add_area(std::string name, std::vector<uint8_t> bytes, bool given, bool writable,
                    int misalign);
  [[nodiscard]] const Area& area(uint64_t address, size_t n, const char* access) const;
  std::vector<Area> areas_;
};

/// tw_args and tw_pack_args, field by field (ArgField order); pointers are Memory addresses.
struct Arguments {
  uint64_t field[static_cast<size_t>(ArgField::all_count)] = {};
  float min = -3.402823466e38F;
  float max = 3.402823466e38F;
};

struct RunOptions {
  VectorLength vl;
  bool physical = false;  ///< keep values in physical registers (the Program is allocated)
  bool verified = false;  ///< it has run before, so that nothing is left to find
};

struct RunCounts {
  int64_t operations = 0;
};

/// Throws Fault. The region for tw_args is made here; `arg(clamp)` is its address in memory.
RunCounts run(const Program& program, const Arguments& arguments, Memory& memory,
              const RunOptions& options = {});

}  // namespace tw
