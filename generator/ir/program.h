// A Program: a function on an argument struct (tw_args). Structured loops around straight-line
// operations on virtual registers, in SSA form: every value is defined once. Values that live
// across a back edge are explicit loop parameters. The same structure serves every stage:
//   lowered and ordered   operations only
//   selected              an operation may be an instruction row (Op::row), n operations in one
//   allocated             Program::registers gives each value a physical register
#pragma once

#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "ir/short_list.h"
#include "model/isa.h"
#include "model/length.h"
#include "model/operation.h"

namespace tw {

struct Type {
  Kind kind = Kind::scalar;
  Length bytes = 8;  ///< vectors: length; scalars: 8; predicates: lanes they govern times 1; tiles:
                     ///< of a row
  Length rows = 0;   ///< tiles
  friend bool operator==(const Type&, const Type&) = default;
};

using Types = ShortList<Type, 4>;

/// Why a value exists; for messages ("32 accumulators + 8 operands + 1 mask") and names.
enum class Role { other, accumulator, operand, mask, address };

using Value = int;  ///< index into Program::values; -1: none
constexpr Value no_value = -1;

struct ValueInfo {
  Type type;
  std::string name;  ///< a hint for readable output, not unique
  Role role = Role::other;
};

using Operands = ShortList<Value, 6>;

struct Op {
  OpCode code{};
  Operands results = {};  ///< a plain operation has at most one
  Operands args = {};
  int bits = 0;        ///< lane width
  Length offset = {};  ///< memory offset in bytes
  int64_t imm = 0;     ///< constant, shift, lane or ArgField
  /// Set by selection: the operation is this instruction. Then `code`, bits, offset and imm mean
  /// nothing; results, args and immediates follow the row's operands and immediates in order.
  const Row* row = nullptr;
  ShortList<Length, 2> immediates = {};
};

struct Loop;
struct If;
using Node = std::variant<Op, std::unique_ptr<Loop>, std::unique_ptr<If>>;

struct Region {
  std::vector<Node> nodes;
};

/// Runs `body` ceil(count / step) times (zero: not at all): a loop over rows steps by the tile.
/// In assembly: subtract step from the counter, go on while it was above step (unsigned).
struct Loop {
  Value count = no_value;
  Length step = 1;             ///< hot loops: always 1
  std::vector<Value> inits;    ///< before the first iteration
  std::vector<Value> params;   ///< defined inside: the value at the start of an iteration
  std::vector<Value> yields;   ///< defined inside: the value for the next iteration
  std::vector<Value> results;  ///< defined outside: after the last iteration
  Region body;
  std::string label;         ///< "k", "m", "n": for people
  bool hot = false;          ///< the innermost loop over k: no frame access, pipelined
  int64_t macs = 0;          ///< multiply-accumulates per iteration (at vl = svl = 1); hot loops
  Value counter = no_value;  ///< set by allocation: the register that counts down
};

enum class Compare { equal, not_equal, below, at_least };  ///< unsigned

/// if (a cmp b) then ... else ...; no values leave the branches.
struct If {
  Value a = no_value;
  Value b = no_value;
  Compare compare = Compare::at_least;
  Region then_body;
  Region else_body;
};

constexpr int64_t scratch_alignment = 64;  ///< bytes: a cache line

struct Program {
  std::string name;
  const Isa* isa = nullptr;
  std::vector<ValueInfo> values;
  Value args = no_value;  ///< the function's only parameter: address of the tw_args
  Region body;
  int frame_slots = 0;        ///< 8-byte scalar slots of its own frame
  int64_t scratch_bytes = 0;  ///< memory of its own that an algorithm asked for, which begins at
                              ///< scratch_alignment where the ISA has a rule for that ...
  Value scratch = no_value;   ///< ... and the pointer to it, if nothing else points there

  /// Set by allocation, one per value: index into its register file; -1 for none.
  std::vector<int> registers;
  [[nodiscard]] bool allocated() const { return !registers.empty(); }
  [[nodiscard]] const Type& type(Value v) const { return values[static_cast<size_t>(v)].type; }
  Value add_value(Type type, std::string hint, Role role = Role::other) {
    values.push_back({type, std::move(hint), role});
    return static_cast<Value>(values.size()) - 1;
  }
  /// Another value of the same type, name and role.
  Value add_like(Value v) {
    const ValueInfo like = values.at(static_cast<size_t>(v));
    return add_value(like.type, like.name, like.role);
  }
};

Region clone(const Region& region);
Program clone(const Program& program);

/// Calls f(Region&) on the body of a loop, or on both branches. `N`: Node, or const.
template <typename N, typename F>
void for_each_region(N& node, F&& f) {
  if (auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) {
    f((*loop)->body);
  } else if (auto* branch = std::get_if<std::unique_ptr<If>>(&node)) {
    f((*branch)->then_body);
    f((*branch)->else_body);
  }
}

/// Calls f(Op&) on every operation, inner regions included, in program order. `R`: Region, or
/// const.
template <typename R, typename F>
void for_each_op(R& region, F&& f) {
  for (auto& node : region.nodes) {
    if (auto* op = std::get_if<Op>(&node)) f(*op);
    for_each_region(node, [&](Region& inner) { for_each_op(inner, f); });
  }
}

/// Calls f(Loop&) on every loop, on outer ones before those inside.
template <typename F>
void for_each_loop(const Region& region, F&& f) {
  for (const Node& node : region.nodes) {
    if (const auto* loop = std::get_if<std::unique_ptr<Loop>>(&node)) f(**loop);
    for_each_region(node, [&](const Region& inner) { for_each_loop(inner, f); });
  }
}

/// "v12 = dot4_u8s8(v3, v4, v5)": the whole Program for people.
std::string to_text(const Program& program);

/// Empty when the Program is well formed, else what is wrong: single definitions that dominate
/// their uses, kinds and lengths that fit the operations, loop lists of equal length, and (for
/// selected Programs) immediates that fit their rows.
std::string verify(const Program& program);

/// The same for what allocation says: every value that is read has a register of its file that its
/// rows allow; the init, param, yield and result of one loop variable share one; ties, tuples and
/// early clobbers are kept. Not whether a register is overwritten too early: running the Program on
/// physical registers shows that.
std::string verify_registers(const Program& program);

/// For each value the index (in Isa::files) of its register file; -1: the ISA has none.
/// Throws std::invalid_argument for a value that rows want in two different files.
std::vector<int> register_files(const Program& program);

}  // namespace tw
