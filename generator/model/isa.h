// An ISA as data: register files, instruction rows, the features a CPU must have.
// Read from templates/isa/*.yaml by spec/isa_reader; nothing here knows a particular ISA.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "model/convention.h"
#include "model/length.h"
#include "model/operation.h"
#include "model/technique.h"

namespace tw {

/// Where something was written, for messages: "specs/mine.yaml:9:12".
struct Where {
  std::string file;
  int line = 0;    ///< from 1; 0 when unknown
  int column = 0;  ///< from 1
};
std::string to_string(const Where& where);

constexpr int most_registers = 256;  ///< in a file

/// A set of registers of one kind.
struct RegisterFile {
  std::string name;  ///< "v", "r", "k"
  Kind kind = Kind::vector;
  Length bytes;     ///< width of one register (predicates: in lanes' bytes / 8), of a tile's row
  Length rows = 0;  ///< of a tile
  /// Printed names per view, one for each register that allocation may use, in the order of
  /// preference. The first view is the default. {"z": [zmm0, ...], "y": [ymm0, ...]}
  std::vector<std::pair<std::string, std::vector<std::string>>> views;
  std::vector<int> consecutive;  ///< hardware number of each index: tuples need neighbours
  [[nodiscard]] int count() const {
    return views.empty() ? 0 : static_cast<int>(views.front().second.size());
  }
};

/// A value inside a row's meaning: an operand by name, or the result of a nested operation.
struct MeansArg {
  std::string operand;  ///< empty for a nested operation
  int node = -1;        ///< index into Row::means
};

/// One operation of a meaning. Attributes are literal, or name an immediate of the row.
struct MeansNode {
  OpCode code{};
  std::string result;  ///< operand name, empty for an inner value and for stores
  std::vector<MeansArg> args;
  int bits = 0;
  Length offset;            ///< added to the named offset
  std::string offset_name;  ///< immediate that gives the offset, or empty
  int64_t imm = 0;
  std::string imm_name;  ///< immediate that gives #i, or empty
};

struct Operand {
  std::string name;
  Kind kind = Kind::vector;
  bool is_result = false;
  std::string file;            ///< register file; empty: the ISA's only file of that kind
  std::vector<int> allowed;    ///< allowed register indices; empty: all
  std::string tied;            ///< a result that must share the register of this argument
  bool early_clobber = false;  ///< a result written before all arguments are read
  std::string tuple;           ///< operands with the same tuple name take consecutive registers
  std::string c_type;          ///< C type class when it differs from the row's `c_type`
};

/// What an immediate counts: bytes and the like, or multiples of a vector length.
enum class Symbol : uint8_t { one, vl, svl };

struct Immediate {
  std::string name;
  int bits = 32;
  int scale = 1;  ///< encoded number * scale * of = value
  bool is_signed = true;
  Symbol of = Symbol::one;
  int64_t least = INT64_MIN;  ///< where the encoding begins later: right shifts at 1
  /// What the encoded number 1 stands for.
  [[nodiscard]] Length unit() const;
  /// The number that stands for `value`; none when it is no multiple of the unit.
  [[nodiscard]] std::optional<int64_t> encoded(Length value) const;
  [[nodiscard]] bool fits(Length value) const;
  /// As assembly has it: bytes, but the encoded number when they depend on a vector length.
  [[nodiscard]] std::string text(Length value) const;
};

/// One instruction (or a fixed short sequence), what it means and how it is written.
struct Row {
  std::string name;               ///< unique in the ISA; made from the assembly mnemonic
  std::vector<MeansNode> means;   ///< in order; inner results feed later nodes
  std::vector<Operand> operands;  ///< results first
  std::vector<Immediate> immediates;
  Length bytes;        ///< length of its vectors; zero: the ISA's vector length
  Length load_bytes;   ///< of what it loads and then widens; zero: as its vectors
  std::string c;       ///< C expression or statement, fmt named arguments; empty: none
  std::string c_type;  ///< C type class of its vector operands ("i", "f", "s8" ...)
  std::vector<std::string> assembly;       ///< one line each; empty: none
  std::vector<std::string> issue_classes;  ///< keys into core tables, of each line of assembly
  Mode mode = Mode::none;
  std::vector<std::string> clobbers;  ///< "flags", or "file:index"
  Where where;
  [[nodiscard]] const Operand* operand(const std::string& name) const;
};

/// A function must leave register `index` as it found it, or the part that a convention names.
bool is_callee_saved(const RegisterFile& file, int index, const Convention& convention);

/// Control flow and frames in assembly; text with named arguments like rows.
/// Lines end up in the order given. {n} counter, {a} {b} scalars, {label}, {r} register,
/// {o} byte offset, {bytes} frame size.
struct AssemblyRules {
  std::vector<std::string> skip_if_zero;  ///< go to {label} when {n} is 0
  std::vector<std::string> loop_end;      ///< subtract {step} from {n}, go to {label} if {n} was
                                          ///< above {step} (unsigned)
  std::vector<std::string> jump;          ///< go to {label}
  std::map<std::string, std::vector<std::string>> branch;  ///< "equal", "not_equal", "below",
                                                           ///< "at_least": {a} {b} {label}
  std::vector<std::string> entry;        ///< first lines of every function, after the convention's
  std::string frame_enter, frame_leave;  ///< move the stack pointer by {bytes}
  /// Touches the page {bytes} below the stack pointer: systems add pages to stacks one by one.
  /// Empty: frames have a page at most.
  std::string touch_page;
  std::string save_scalar, restore_scalar;  ///< {r} at stack pointer + {o}; also frame slots
  std::string frame_address;                ///< {r} = stack pointer + {o}
  std::string align_address;      ///< rounds {r} down to a multiple of {bytes}. Empty: scratch
                                  ///< begins where stacks do, at a multiple of 16
  std::vector<std::string> head;  ///< after the file's head: ".intel_syntax noprefix"
  std::vector<std::string> foot;  ///< at the file's end: ".att_syntax prefix"
};

struct Isa {
  std::string name;
  std::string architecture;           ///< "x86_64", "aarch64", "portable"
  std::vector<std::string> features;  ///< run-time features, by the runtime's names
  Length vector_bytes;                ///< of the ordinary vector registers
  std::vector<RegisterFile> files;
  std::vector<Row> rows;
  std::vector<std::string> c_includes;
  std::string c_target;  ///< __attribute__((target("..."))) text, may be empty
  std::map<std::string, std::string> c_types;  ///< class -> C type, "i" -> "__m512i"
  /// Statement that keeps the sum {x} as written: compilers that add up in another order run out of
  /// registers where an ISA has few. Empty: none.
  std::string c_keep;
  std::map<std::string, std::string> c_casts;  ///< "i>f" -> "_mm512_castsi512_ps({x})"; "*" pattern
  std::vector<std::string> assembly_head;      ///< ".arch armv8.2-a+i8mm"
  AssemblyRules rules;
  Convention convention;     ///< registers are allocated by; others differ around the function
  std::string packers;       ///< table whose instructions packers take where its own vectors have
                             ///< no fixed length; it runs wherever this one does. Empty: none
  std::string default_core;  ///< core table used when a spec names none
  Technique usual_technique = Technique::dot;  ///< which names of kernels leave out; floats: fma,
                                               ///< unless it multiplies those, too
  bool can_print_c = true;
  bool can_print_assembly = true;
  Where where;

  [[nodiscard]] const RegisterFile* file_of(Kind kind) const;
  [[nodiscard]] const RegisterFile* file(const std::string& file_name) const;
  /// Accumulators of 32 bits in a tile of the table's first file of tiles, one above the other and
  /// side by side.
  [[nodiscard]] Length tile_rows() const { return file_of(Kind::tile)->rows; }
  [[nodiscard]] Length tile_columns() const { return file_of(Kind::tile)->bytes.divided(4); }
  /// The length of a row's vectors.
  [[nodiscard]] Length bytes_of(const Row& row) const {
    return row.bytes == Length{} ? vector_bytes : row.bytes;
  }
  /// The same of one of the row's operations.
  [[nodiscard]] Length bytes_of(const Row& row, OpCode code) const {
    return code == OpCode::load && row.load_bytes != Length{} ? row.load_bytes : bytes_of(row);
  }
  /// The first single-operation row for `code` with lanes of `bits` and vectors of `bytes` (zero:
  /// the ISA's own length) that is `wanted`, or null. This is how `lower` asks what exists.
  [[nodiscard]] const Row* row_for(
      OpCode code, int bits = 0, Length bytes = {},
      const std::function<bool(const Row&)>& wanted = [](const Row&) { return true; }) const;
  [[nodiscard]] bool has(OpCode code, int bits = 0, Length bytes = {}) const {
    return row_for(code, bits, bytes) != nullptr;
  }
  [[nodiscard]] int64_t lanes32() const { return vector_bytes.fixed / 4; }
};

/// Whether what runs `isa` runs `other`, too.
bool includes(const Isa& isa, const Isa& other);

}  // namespace tw
