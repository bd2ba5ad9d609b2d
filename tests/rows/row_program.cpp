#include "rows/row_program.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <stdexcept>

#include "ir/builder.h"
#include "ir/typing.h"
#include "rows/means.h"
#include "schedule/rows.h"

namespace tw::test {
namespace {

/// How a value of one kind gets into a buffer and out of it.
class RowWriter {
 public:
  RowWriter(const RowUse& use, bool keep)
      : use_(use), row_(*use.row), isa_(*use.isa), keep_(keep), b_(row_.name, isa_) {}

  RowProgram write() {
    find_pointer();
    inputs_ = emit(OpCode::arg, {0}, {.imm = static_cast<int64_t>(ArgField::lhs)});
    const Value dst = emit(OpCode::arg, {0}, {.imm = static_cast<int64_t>(ArgField::dst)});
    const Value step = emit(OpCode::arg, {0}, {.imm = static_cast<int64_t>(ArgField::dst_stride)});
    outputs_ = emit(OpCode::iadd, {dst, step});
    read_arguments();
    load_table();
    const size_t first = b_.written();
    execute();
    const size_t last = b_.written();
    for (const Operand& operand : result_operands(row_)) keep(operand);
    if (keep_) {
      for (const Operand& operand : argument_operands(row_)) {
        // Nothing copies a tile, so none outlives what adds to it.
        if (operand.kind != Kind::tile) keep(operand);
      }
    }
    const size_t all = b_.written();
    out_.lowered = b_.finish();
    const size_t entered = (out_.lowered.body.nodes.size() - all) / 2;  // modes
    out_.selected = select_row(first + entered, last + entered);
    return std::move(out_);
  }

 private:
  [[noreturn]] void fail(const std::string& what) const {
    throw std::runtime_error(fmt::format("{}: {}", to_string(use_), what));
  }

  Value emit(OpCode code, const std::vector<Value>& args, Builder::With with = {}) {
    const auto a = [&](size_t i) { return args[i]; };
    switch (args.size()) {
      case 0:
        return b_.op(code, {}, with);
      case 1:
        return b_.op(code, {a(0)}, with);
      case 2:
        return b_.op(code, {a(0), a(1)}, with);
      case 3:
        return b_.op(code, {a(0), a(1), a(2)}, with);
      case 5:
        return b_.op(code, {a(0), a(1), a(2), a(3), a(4)}, with);
      case 6:
        return b_.op(code, {a(0), a(1), a(2), a(3), a(4), a(5)}, with);
      case 7:
        return b_.op(code, {a(0), a(1), a(2), a(3), a(4), a(5), a(6)}, with);
      case 10:
        return b_.op(code, {a(0), a(1), a(2), a(3), a(4), a(5), a(6), a(7), a(8), a(9)}, with);
      default:
        fail(fmt::format("an operation with {} arguments", args.size()));
    }
  }

  void find_pointer() {
    for (const MeansNode& node : row_.means) {
      const std::string base = base_of(row_, node);
      if (base.empty()) continue;
      if (!out_.pointer.empty() && out_.pointer != base) fail("it has two pointers");
      out_.pointer = base;
      out_.writes = out_.writes || writes_memory(node.code);
    }
  }

  Length own_bytes() const { return row_.bytes == Length{} ? isa_.vector_bytes : row_.bytes; }

  /// Room for a vector of any length, so that one Program serves all of them.
  static size_t room(Length bytes) { return static_cast<size_t>(bytes.at(longest_vectors)); }
  static size_t room(const RegisterFile& tiles) { return room(tiles.bytes) * room(tiles.rows); }

  static size_t take(std::vector<Slot>& slots, Slot slot, size_t& total) {
    constexpr size_t slot_bytes = 64;
    slot.offset = total;
    total += (slot.bytes + slot_bytes - 1) / slot_bytes * slot_bytes;
    slots.push_back(std::move(slot));
    return slots.back().offset;
  }
  Builder::With input(const Operand& operand, Type type, size_t bytes, int bits = 0) {
    const size_t at = take(out_.inputs, {operand.name, type, 0, bytes}, out_.input_bytes);
    return {.bits = bits, .offset = static_cast<int64_t>(at)};
  }
  Builder::With output(const Operand& operand, Type type, size_t bytes, int floats = 0) {
    const bool is_address = addresses_.count(operand.name) > 0;
    const size_t at =
        take(out_.outputs, {operand.name, type, 0, bytes, floats, is_address}, out_.output_bytes);
    return {.offset = static_cast<int64_t>(at)};
  }

  // Arguments.

  void read_arguments() {
    const Length bytes = argument_bytes(row_, isa_);
    for (const Operand& operand : argument_operands(row_)) {
      Value& v = values_[operand.name];
      if (operand.name == out_.pointer) {
        const ArgField field = out_.writes ? ArgField::dst : ArgField::rhs;
        v = emit(OpCode::arg, {0}, {.imm = static_cast<int64_t>(field)});
        addresses_[operand.name] = true;
      } else if (operand.kind == Kind::scalar) {
        v = emit(OpCode::load_i64, {inputs_}, input(operand, {Kind::scalar, 8}, 8));
      } else if (operand.kind == Kind::vector) {
        v = make_vector(operand, bytes);
      } else if (operand.kind == Kind::predicate) {
        v = make_predicate(operand);
      } else {
        v = make_tile(operand);
      }
    }
  }

  /// Of a row that looks codes up.
  void load_table() {
    const auto has = [&](OpCode code) {
      return std::any_of(row_.means.begin(), row_.means.end(),
                         [&](const MeansNode& node) { return node.code == code; });
    };
    if (has(OpCode::table_values)) emit(OpCode::table_load, {inputs_});
    if (has(OpCode::nibble_halves)) emit(OpCode::table_halves, {});
    if (has(OpCode::raised_nibbles)) emit(OpCode::table_raised, {});
    for (int64_t pair = 0; has(OpCode::table_nibbles) && pair < 8; ++pair) {
      const Value entries = emit(OpCode::constant, {}, {.imm = (200 - 7 * pair) << 32 | 11 * pair});
      emit(OpCode::table_put, {entries}, {.imm = pair});
    }
  }

  Value make_vector(const Operand& operand, Length bytes) {
    if (isa_.has(OpCode::load, 0, bytes)) {
      Builder::With with = input(operand, {Kind::vector, bytes}, room(bytes));
      with.bytes = bytes;
      return emit(OpCode::load, {inputs_}, with);
    }
    // Too short to be loaded: through an operation that makes it of a longer one.
    for (const Row& other : isa_.rows) {
      const MeansNode& node = other.means.front();
      if (!is_conversion(other)) continue;
      const Type longer{Kind::vector, argument_bytes(other, isa_)};
      if (result_type(node.code, 0, {}, {longer}, isa_).bytes != bytes ||
          !isa_.has(OpCode::load, 0, longer.bytes)) {
        continue;
      }
      return emit(node.code, {make_vector(operand, longer.bytes)});
    }
    fail(fmt::format("no instruction loads {} bytes", to_string(bytes)));
  }

  /// From the bits, or the number, of a scalar.
  Value make_predicate(const Operand& operand) {
    const auto [bits, bytes] = governed(operand);
    const OpCode code = isa_.has(OpCode::pred_bits, bits) ? OpCode::pred_bits : OpCode::pred_first;
    if (!isa_.has(code, bits)) fail("nothing makes its predicate");
    const Value scalar = emit(OpCode::load_i64, {inputs_},
                              input(operand, {Kind::predicate, bytes.divided(bits / 8)}, 8));
    return emit(code, {scalar}, {.bits = bits, .bytes = bytes});
  }

  /// Lanes and length of the vectors that the predicate is made for: those of a half or a quarter
  /// of a vector are those of a whole one.
  std::pair<int, Length> governed(const Operand& operand) const {
    const int bits = lane_bits(row_, operand.name);
    for (const int parts : {2, 4}) {
      if (own_bytes() * parts == isa_.vector_bytes) return {bits * parts, isa_.vector_bytes};
    }
    return {bits, own_bytes()};
  }

  /// Loaded, or else the products of two vectors of numbers.
  Value make_tile(const Operand& operand) {
    if (isa_.has(OpCode::tile_load)) {
      const RegisterFile& file = *isa_.file(operand.file);
      const Value row = emit(OpCode::length, {}, {.offset = file.bytes});
      Builder::With with = input(operand, {Kind::tile, file.bytes, file.rows}, room(file));
      with.bytes = file.bytes;
      with.rows = file.rows;
      return emit(OpCode::tile_load, {inputs_, row}, with);
    }
    const bool floats = info(row_.means.front().code).types[0]->element == Element::f32;
    const Value all = emit(OpCode::pred_all, {}, {.bits = floats ? 32 : 8});
    const Value zero = emit(OpCode::tile_zero, {});
    const Value rows = make_vector(operand, isa_.vector_bytes);
    const Value columns = make_vector(operand, isa_.vector_bytes);
    const OpCode product = floats ? OpCode::outer_f32 : OpCode::outer_s8s8;
    return emit(product, {zero, rows, columns, all, all});
  }

  /// One vector in, one out, nothing else.
  static bool is_conversion(const Row& row) {
    const OpInfo& about = info(row.means.front().code);
    return row.means.size() == 1 && about.args == "v" && about.result == 'v' &&
           about.attributes.empty();
  }

  // The row.

  void execute() {
    std::vector<Value> made;
    for (const MeansNode& node : row_.means) {
      std::vector<Value> args;
      for (const MeansArg& arg : node.args) {
        args.push_back(arg.node < 0 ? values_.at(arg.operand)
                                    : made[static_cast<size_t>(arg.node)]);
      }
      const bool has_vector = info(node.code).args.find('v') != std::string_view::npos;
      const Length bytes = node.code == OpCode::load ? isa_.bytes_of(row_, node.code) : row_.bytes;
      const Value v = emit(node.code, args,
                           {.bits = node.bits,
                            .offset = node.offset + number(use_, node.offset_name),
                            .imm = node.imm + number(use_, node.imm_name).fixed,
                            .bytes = has_vector ? Length{} : bytes});
      made.push_back(v);
      if (node.result.empty()) continue;
      values_[node.result] = v;
      floats_[node.result] = float_bytes(node.code);
      if (makes_address(node, addresses_)) addresses_[node.result] = true;
    }
  }

  /// The lowered Program with one instruction in place of operations first .. last - 1.
  Program select_row(size_t first, size_t last) const {
    Program program = clone(out_.lowered);
    Op op;
    op.row = &row_;
    op.immediates = use_.immediates;
    for (const Operand& operand : result_operands(row_)) {
      op.results.push_back(values_.at(operand.name));
    }
    for (const Operand& operand : argument_operands(row_)) {
      op.args.push_back(values_.at(operand.name));
    }
    auto& nodes = program.body.nodes;
    const auto begin = nodes.begin() + static_cast<std::ptrdiff_t>(first);
    nodes.erase(begin, nodes.begin() + static_cast<std::ptrdiff_t>(last));
    nodes.insert(nodes.begin() + static_cast<std::ptrdiff_t>(first), std::move(op));
    return program;
  }

  // Results.

  void keep(const Operand& operand) {
    const Value v = values_.at(operand.name);
    const Type type = b_.type(v);
    if (type.kind == Kind::scalar) {
      emit(OpCode::store_i64, {outputs_, v}, output(operand, type, 8));
    } else if (type.kind == Kind::predicate) {
      keep_predicate(operand, v);
    } else if (type.kind == Kind::tile) {
      keep_tile(operand, v);
    } else {
      keep_vector(operand, v, floats_[operand.name]);
    }
  }

  void keep_vector(const Operand& operand, Value v, int floats) {
    const Length bytes = b_.type(v).bytes;
    if (isa_.has(OpCode::store, 0, bytes)) {
      emit(OpCode::store, {outputs_, v}, output(operand, b_.type(v), room(bytes), floats));
      return;
    }
    // Too short to be stored: through an operation that makes it longer.
    for (const Row& other : isa_.rows) {
      const MeansNode& node = other.means.front();
      if (!is_conversion(other)) continue;
      const Type longer = result_type(node.code, 0, {}, {b_.type(v)}, isa_);
      if (longer.bytes == bytes || !isa_.has(OpCode::store, 0, longer.bytes)) continue;
      return keep_vector(operand, emit(node.code, {v}), float_bytes(node.code));
    }
    fail(fmt::format("no instruction stores {} bytes", to_string(bytes)));
  }

  /// All of it, or the first rows, which a tile of any length has, those where its quarters begin,
  /// and the last.
  void keep_tile(const Operand& operand, Value v) {
    if (isa_.has(OpCode::tile_store)) {
      const RegisterFile& file = *isa_.file(operand.file);
      const Value row = emit(OpCode::length, {}, {.offset = file.bytes});
      emit(OpCode::tile_store, {outputs_, row, v},
           output(operand, b_.type(v), room(file), floats_[operand.name]));
      return;
    }
    const auto keep_row = [&](Value row) {
      keep_vector(operand, emit(OpCode::tile_row, {v, row}), floats_[operand.name]);
    };
    const Length rows = isa_.vector_bytes.divided(4);
    for (int64_t i = 0; i < 4; ++i) keep_row(emit(OpCode::constant, {}, {.imm = i}));
    for (int64_t i = 1; i < 4; ++i) {
      const Value quarters = emit(OpCode::length, {}, {.offset = rows * i});
      keep_row(emit(OpCode::ishr, {quarters}, {.imm = 2}));
    }
    const Value count = emit(OpCode::length, {}, {.offset = rows});
    const Value one = emit(OpCode::constant, {}, {.imm = 1});
    keep_row(emit(OpCode::isub, {count, one}));
  }

  /// Seen by what it lets through.
  void keep_predicate(const Operand& operand, Value v) {
    const auto [bits, length] = governed(operand);
    if (!isa_.has(OpCode::load_pred, bits)) fail("nothing shows its predicate");
    const size_t bytes = room(length);
    Builder::With with = input(operand, {Kind::vector, length}, bytes, bits);
    with.bytes = length;
    const Value through = emit(OpCode::load_pred, {v, inputs_}, with);
    emit(OpCode::store, {outputs_, through}, output(operand, {Kind::vector, length}, bytes));
  }

  const RowUse& use_;
  const Row& row_;
  const Isa& isa_;
  const bool keep_;
  Builder b_;
  RowProgram out_;
  Value inputs_ = no_value, outputs_ = no_value;
  std::map<std::string, Value> values_;
  std::map<std::string, int> floats_;  ///< bytes of their lanes
  std::map<std::string, bool> addresses_;
};

}  // namespace

RowProgram row_program(const RowUse& use, bool keep) {
  return RowWriter(use, keep).write();
}

const Op& row_op(const RowProgram& program) {
  for (const Node& node : program.selected.body.nodes) {
    const Op& op = std::get<Op>(node);
    if (op.row != nullptr) return op;
  }
  throw std::logic_error("a row's Program without the row");
}

}  // namespace tw::test
