#include "schedule/effects.h"

#include <algorithm>
#include <unordered_map>

#include "schedule/rows.h"

namespace tw {
namespace {

constexpr Value frame_base = -2;  // the function's own frame, as a base of accesses

/// Index of the pointer among the arguments of a memory operation: its first scalar.
size_t pointer_argument(OpCode code) {
  return info(code).args.find('s');
}

Length vector_length(const Program& program, Value v) {
  return v == no_value ? program.isa->vector_bytes : program.type(v).bytes;
}

/// Bytes that `code` touches; `vector` is the vector it loads or stores (no_value: inside a row).
Length access_size(const Program& program, OpCode code, int bits, Value vector) {
  const OpInfo& about = info(code);
  if (about.takes('t') || about.result == 't') return 0;     // rows that are apart
  if (about.has('b') && !about.takes('p')) return bits / 8;  // one element
  if (about.result == 's' || (about.result == '-' && !about.takes('v'))) return 8;
  return vector_length(program, vector);
}

bool is_scratch(const Program& program, Value base) {
  return base != no_value && base == program.scratch;
}

void add_plain(const Program& program, const Op& op, Effects& effects) {
  const bool writes = writes_memory(op.code);
  if (!writes && !reads_memory(op.code)) return;
  const bool frame = uses_frame(op.code);
  const Value base = frame ? frame_base : op.args[pointer_argument(op.code)];
  const Length offset = frame ? Length{op.imm * 8} : op.offset;
  const Value read = op.results.empty() ? no_value : op.results.front();
  const Length size = access_size(program, op.code, op.bits, writes ? op.args.back() : read);
  effects.accesses.push_back({writes, base, offset, size, is_scratch(program, base)});
}

void add_node(const Program& program, const Op& op, const MeansNode& node, Effects& effects) {
  const bool writes = writes_memory(node.code);
  if (!writes && !reads_memory(node.code)) return;
  auto value = [&](const MeansArg& arg) {
    const int at = argument_index(*op.row, arg.operand);
    return at < 0 ? no_value : op.args[static_cast<size_t>(at)];
  };
  const Value base = value(node.args[pointer_argument(node.code)]);
  Access access{writes, base, node.offset, 0, is_scratch(program, base)};
  if (!node.offset_name.empty()) access.offset += immediate(op, node.offset_name);
  Value vector = no_value;
  if (writes) {
    vector = value(node.args.back());
  } else if (const int at = result_index(*op.row, node.result); at >= 0) {
    vector = op.results[static_cast<size_t>(at)];
  }
  access.size = access_size(program, node.code, node.bits, vector);
  effects.accesses.push_back(access);
}

/// Or the table that others look codes up in.
bool changes_mode(OpCode code) {
  return code == OpCode::mode_enter || code == OpCode::mode_leave || code == OpCode::table_load ||
         code == OpCode::table_halves || code == OpCode::table_raised || code == OpCode::table_put;
}

bool overlap(const Access& a, const Access& b) {
  if (a.base != b.base || a.base == no_value) {
    return a.base != frame_base && b.base != frame_base && !a.is_scratch && !b.is_scratch;
  }
  const auto fixed = [](const Access& it) {
    return it.offset.is_fixed() && it.size.is_fixed() && it.size != Length{};
  };
  if (!fixed(a) || !fixed(b)) return true;
  return a.offset.fixed < b.offset.fixed + b.size.fixed &&
         b.offset.fixed < a.offset.fixed + a.size.fixed;
}

}  // namespace

bool Effects::writes() const {
  return std::any_of(accesses.begin(), accesses.end(), [](const Access& a) { return a.writes; });
}

Effects effects(const Program& program, const Op& op) {
  Effects effects;
  if (op.row == nullptr) {
    effects.barrier = changes_mode(op.code);
    add_plain(program, op, effects);
    return effects;
  }
  for (const MeansNode& node : op.row->means) {
    effects.barrier = effects.barrier || changes_mode(node.code);
    add_node(program, op, node, effects);
  }
  return effects;
}

bool conflict(const Effects& a, const Effects& b) {
  if (a.barrier || b.barrier) return true;
  for (const Access& x : a.accesses) {
    for (const Access& y : b.accesses) {
      if ((x.writes || y.writes) && overlap(x, y)) return true;
    }
  }
  return false;
}

Dependences dependences(const Program& program, std::span<const Op* const> ops) {
  Dependences graph{std::vector<std::vector<int>>(ops.size()),
                    std::vector<std::vector<int>>(ops.size())};
  auto edge = [&](int from, int to) {
    graph.before[static_cast<size_t>(to)].push_back(from);
    graph.after[static_cast<size_t>(from)].push_back(to);
  };
  std::unordered_map<Value, int> defined;
  std::vector<std::pair<int, Effects>> with_effects;
  int barrier = -1;  // the last one
  for (int i = 0; i < static_cast<int>(ops.size()); ++i) {
    const Op& op = *ops[static_cast<size_t>(i)];
    for (Value v : op.args) {
      if (auto at = defined.find(v); at != defined.end()) edge(at->second, i);
    }
    for (Value v : op.results) defined[v] = i;
    Effects own = effects(program, op);
    // Nothing that a mode holds may cross its change.
    if (barrier >= 0) edge(barrier, i);
    for (int j = barrier + 1; own.barrier && j < i; ++j) edge(j, i);
    if (own.barrier) barrier = i;
    if (own.none() && !own.barrier) continue;
    for (const auto& [earlier, its] : with_effects) {
      if (conflict(its, own)) edge(earlier, i);
    }
    with_effects.emplace_back(i, std::move(own));
  }
  return graph;
}

}  // namespace tw
