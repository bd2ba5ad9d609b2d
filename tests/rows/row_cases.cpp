#include "rows/row_cases.h"

#include <algorithm>
#include <cstring>
#include <random>

#include "ir/meaning.h"
#include "rows/means.h"
#include "rows/operand_values.h"

namespace tw::test {
namespace {

constexpr size_t random_cases = 24;
constexpr size_t most_pairs = 400;

/// Bytes around the row's pointer.
struct Span {
  int64_t begin = 0, end = 0;
  void add(int64_t from, int64_t bytes) {
    if (bytes == 0) return;
    if (begin == end) begin = end = from;
    begin = std::min(begin, from);
    end = std::max(end, from + bytes);
  }
};

/// The lanes that a predicate lets touch memory.
std::vector<uint8_t> active_lanes(const RowProgram& program, const RowCase& one,
                                  const std::string& predicate, OpCode maker, VectorLength vl) {
  for (const Slot& slot : program.inputs) {
    if (slot.operand != predicate || slot.type.kind != Kind::predicate) continue;
    uint8_t scalar[8] = {};
    std::memcpy(scalar, one.inputs.data() + slot.offset, sizeof scalar);
    std::vector<uint8_t> active(static_cast<size_t>(slot.type.bytes.at(vl)));
    Step step;
    step.code = maker;
    step.arg_count = static_cast<int>(info(maker).args.size());
    step.arg[0] = {scalar, sizeof scalar, Kind::scalar};
    step.to = {active.data(), active.size(), Kind::predicate};
    run_alone(step);
    return active;
  }
  throw std::logic_error("no predicate " + predicate);
}

class GroupMaker {
 public:
  GroupMaker(const RowUse& use, const RowProgram& program, VectorLength vl)
      : use_(use), row_(*use.row), program_(program), vl_(vl), random_(row_.where.line) {}

  RowGroup make() {
    group_.name = to_string(use_);
    group_.access = program_.pointer.empty() ? Access::none
                    : program_.writes        ? Access::writes
                                             : Access::reads;
    for (const MeansNode& node : row_.means) {
      if (node.code == OpCode::store_stream) group_.aligned = 1;
    }
    for (const Slot& slot : program_.outputs) describe(slot);
    const size_t pairs = pair_cases();
    for (size_t i = 0; i < pairs; ++i) add_case(i, true);
    for (size_t i = 0; i < random_cases; ++i) add_case(i, false);
    return std::move(group_);
  }

 private:
  void describe(const Slot& slot) {
    const Operand* operand = row_.operand(slot.operand);
    if (operand->is_result) {
      group_.result_bytes = static_cast<uint32_t>(slot.offset + (slot.bytes + 63) / 64 * 64);
    }
    if (slot.float_bytes == 0 && !slot.is_address) return;
    group_.special.push_back({static_cast<uint32_t>(slot.offset), static_cast<uint32_t>(slot.bytes),
                              static_cast<uint8_t>(slot.is_address ? 0 : slot.float_bytes)});
  }

  // Operands.

  [[nodiscard]] Element element(const Slot& slot) const {
    for (const MeansNode& node : row_.means) {
      if (slot.operand == distance_of(row_, node)) return Element::row_bytes;
    }
    return slot.type.kind == Kind::predicate ? Element::number : element_of(row_, slot.operand);
  }
  [[nodiscard]] bool is_argument(const Slot& slot) const {
    return !row_.operand(slot.operand)->is_result;
  }

  [[nodiscard]] size_t lanes_of(const Slot& slot) const {
    const bool has_lanes = slot.type.kind == Kind::vector || slot.type.kind == Kind::tile;
    return has_lanes ? slot.bytes / bytes_of(element(slot)) : 1;
  }

  /// So many cases that each corner of the first operand meets each of the second.
  [[nodiscard]] size_t pair_cases() const {
    size_t pairs = 1;
    size_t lanes = 1;
    size_t operands = 0;
    for (const Slot& slot : program_.inputs) {
      if (!is_argument(slot) || operands == 2) continue;
      pairs *= corners(element(slot)).size();
      lanes = std::max(lanes, lanes_of(slot));
      ++operands;
    }
    return std::min((pairs + lanes - 1) / lanes, most_pairs);
  }

  void fill(const Slot& slot, size_t position, size_t turn, bool by_pairs, RowCase& one) {
    const Element its = element(slot);
    const std::vector<uint64_t>& list = corners(its);
    const size_t lanes = lanes_of(slot);
    // Every fourth random case: all lanes equal.
    const uint64_t everywhere = random_value(its, random_);
    for (size_t lane = 0; lane < lanes; ++lane) {
      const size_t i = turn * lanes + lane;
      uint64_t value = random_value(its, random_);
      if (by_pairs && position == 0) value = list[i % list.size()];
      if (by_pairs && position == 1) value = list[i / first_corners_ % list.size()];
      if (!by_pairs && turn % 4 == 3) value = everywhere;
      std::memcpy(one.inputs.data() + slot.offset + lane * bytes_of(its), &value, bytes_of(its));
    }
    if (position == 0) first_corners_ = list.size();
  }

  void fill_inputs(size_t turn, bool by_pairs, RowCase& one) {
    one.inputs.resize(program_.input_bytes);
    size_t position = 0;
    for (const Slot& slot : program_.inputs) {
      if (is_argument(slot) || slot.type.kind == Kind::predicate) {
        fill(slot, position++, turn, by_pairs, one);
      } else {  // behind a predicate that the row makes: nothing that looks like a lane left out
        for (size_t i = 0; i < slot.bytes; ++i) one.inputs[slot.offset + i] = 1 + random_() % 255;
      }
    }
  }

  void fill_memory(RowCase& one) {
    const Element its = loaded_element(row_);
    const size_t step = bytes_of(its);
    for (size_t at = 0; at < one.before.size(); at += step) {
      const uint64_t value = random_value(its, random_);
      std::memcpy(one.before.data() + at, &value, std::min(step, one.before.size() - at));
    }
  }

  // Memory.

  /// The bytes from row to row are an operand.
  void touch_tile(const MeansNode& node, int64_t at, const RowCase& one, Span& span) const {
    const std::string& tile = writes_memory(node.code) ? node.args[2].operand : node.result;
    const RegisterFile& file = *use_.isa->file(row_.operand(tile)->file);
    for (const Slot& slot : program_.inputs) {
      if (slot.operand != node.args[1].operand) continue;
      int64_t apart = 0;
      std::memcpy(&apart, one.inputs.data() + slot.offset, sizeof apart);
      span.add(at, (file.rows.at(vl_) - 1) * apart + file.bytes.at(vl_));
    }
  }

  /// From the row's pointer, where another operand is added to it.
  [[nodiscard]] int64_t distance(const MeansNode& node, const RowCase& one) const {
    int64_t distance = 0;
    for (const Slot& slot : program_.inputs) {
      if (slot.operand != distance_of(row_, node)) continue;
      std::memcpy(&distance, one.inputs.data() + slot.offset, sizeof distance);
    }
    return distance;
  }

  void touch(const MeansNode& node, const RowCase& one, Span& span) const {
    if (base_of(row_, node).empty() || prefetches(node.code)) return;
    if (node.code == OpCode::arg) {
      const int64_t field = node.imm + number(use_, node.imm_name).fixed;
      if (!makes_address(node, {})) span.add(8 * field, 8);
      return;
    }
    const int64_t at = (node.offset + number(use_, node.offset_name)).at(vl_) + distance(node, one);
    switch (node.code) {
      case OpCode::load_i64:
      case OpCode::load_pointer:
      case OpCode::store_i64:
        return span.add(at, 8);
      case OpCode::load_dup:
      case OpCode::load_lane:
      case OpCode::store_lane:
        return span.add(at, node.bits / 8);
      case OpCode::tile_load:
      case OpCode::tile_store:
        return touch_tile(node, at, one, span);
      case OpCode::load_pred:
      case OpCode::load_pred_dup:
      case OpCode::store_pred: {
        const OpCode maker =
            use_.isa->has(OpCode::pred_bits, node.bits) ? OpCode::pred_bits : OpCode::pred_first;
        const auto active = active_lanes(program_, one, node.args[0].operand, maker, vl_);
        const size_t segment = 128 / static_cast<size_t>(node.bits);
        const size_t lanes =
            node.code == OpCode::load_pred_dup ? std::min(segment, active.size()) : active.size();
        for (size_t i = 0; i < lanes; ++i) {
          const auto lane = static_cast<int64_t>(i) * node.bits / 8;
          if (active[i] != 0) span.add(at + lane, node.bits / 8);
        }
        return;
      }
      default:
        return span.add(at, use_.isa->bytes_of(row_, node.code).at(vl_));
    }
  }

  // Results.

  void add_case(size_t turn, bool by_pairs) {
    RowCase one;
    fill_inputs(turn, by_pairs, one);
    Span span;
    for (const MeansNode& node : row_.means) touch(node, one, span);
    one.pointer = -span.begin;
    one.before.resize(static_cast<size_t>(span.end - span.begin));
    fill_memory(one);
    interpret(one);
    group_.cases.push_back(std::move(one));
  }

  void interpret(RowCase& one);

  const RowUse& use_;
  const Row& row_;
  const RowProgram& program_;
  const VectorLength vl_;
  std::mt19937_64 random_;
  size_t first_corners_ = 1;
  RowGroup group_;
};

/// A Program's run with a case's operands.
struct Run {
  Memory memory;
  uint64_t outputs = 0, touched = 0;
};

Run run_case(const Program& program, Access access, const RowCase& one, size_t output_bytes,
             VectorLength vl, bool physical) {
  Run now;
  Arguments arguments;
  auto field = [&](ArgField which) -> uint64_t& {
    return arguments.field[static_cast<size_t>(which)];
  };
  const bool writes = access == Access::writes;
  field(ArgField::lhs) = now.memory.add("operands", one.inputs, false);
  now.touched = now.memory.add("memory", one.before, writes);
  now.outputs = now.memory.add("results", std::vector<uint8_t>(output_bytes, row_poison), true);
  field(writes ? ArgField::dst : ArgField::rhs) = now.touched + static_cast<uint64_t>(one.pointer);
  field(ArgField::dst_stride) = now.outputs - field(ArgField::dst);
  run(program, arguments, now.memory, {.vl = vl, .physical = physical});
  return now;
}

/// The results, with addresses counted from the memory's start.
std::vector<uint8_t> results_of(const Run& run, const std::vector<SpecialOutput>& special) {
  std::vector<uint8_t> bytes = run.memory.bytes(run.outputs);
  for (const SpecialOutput& output : special) {
    if (output.float_bytes != 0 || output.offset >= bytes.size()) continue;
    uint64_t address = 0;
    std::memcpy(&address, bytes.data() + output.offset, sizeof address);
    address -= run.touched;
    std::memcpy(bytes.data() + output.offset, &address, sizeof address);
  }
  return bytes;
}

void GroupMaker::interpret(RowCase& one) {
  const Run done =
      run_case(program_.selected, group_.access, one, program_.output_bytes, vl_, false);
  one.outputs = results_of(done, group_.special);
  one.after = done.memory.bytes(done.touched);
}

}  // namespace

RowGroup make_group(const RowUse& use, const RowProgram& program, VectorLength vl) {
  return GroupMaker(use, program, vl).make();
}

std::string check_registers(const Program& allocated, const RowGroup& group, bool keeps) {
  if (std::string wrong = verify_registers(allocated); !wrong.empty()) return wrong;
  for (size_t i = 0; i < std::min<size_t>(3, group.cases.size()); ++i) {
    const RowCase& one = group.cases[group.cases.size() - 1 - i];
    std::vector<uint8_t> wanted = one.outputs;
    if (!keeps) wanted.resize(group.result_bytes);
    const Run done = run_case(allocated, group.access, one, wanted.size(), {}, true);
    if (results_of(done, group.special) != wanted) return "other results on its registers";
    if (done.memory.bytes(done.touched) != one.after) return "other memory on its registers";
  }
  return {};
}

}  // namespace tw::test
