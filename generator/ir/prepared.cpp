#include "ir/prepared.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ir/row_use.h"
#include "ir/typing.h"

namespace tw {
namespace {

/// Gives every value a room (an index) first, and rooms their offsets when all are known.
class Preparer {
 public:
  Preparer(const Program& program, VectorLength vl, bool physical)
      : program_(program),
        vl_(vl),
        prepared_(std::make_unique<Prepared>()),
        index_(program.values.size()) {
    if (physical) {
      share_registers();
    } else {
      for (size_t v = 0; v < index_.size(); ++v) index_[v] = add(program.values[v].type);
    }
    physical_ = physical;
    first_inner_ = rooms_.size();
  }

  std::unique_ptr<Prepared> prepare() {
    // Twice, because places are known only when all values inside of rows have been counted.
    region(program_.body);
    lay_out();
    inner_ = first_inner_;
    next_meaning_ = 0;
    prepared_->steps = region(program_.body);
    prepared_->args = place(program_.args);
    return std::move(prepared_);
  }

 private:
  struct Room {
    Kind kind;
    size_t bytes;
    size_t offset = 0;
  };

  size_t rows(Type type) const { return static_cast<size_t>(type.rows.at(vl_)); }

  size_t bytes(Type type) const {
    if (type.kind == Kind::scalar) return 8;
    const auto row = static_cast<size_t>(type.bytes.at(vl_));
    return type.kind == Kind::tile ? row * rows(type) : row;
  }

  size_t add(Type type, size_t room) {
    rooms_.push_back({type.kind, room});
    return rooms_.size() - 1;
  }
  size_t add(Type type) { return add(type, bytes(type)); }

  /// One room per register, as wide as the longest vector; one per value without a register.
  void share_registers() {
    std::vector<int> files = register_files(program_);
    std::map<std::pair<int, int>, size_t> of_register;
    for (size_t v = 0; v < index_.size(); ++v) {
      Type type = program_.values[v].type;
      if (program_.registers[v] < 0) {
        index_[v] = add(type);
        continue;
      }
      auto [it, is_new] = of_register.try_emplace({files[v], program_.registers[v]}, 0);
      bool wide = type.kind == Kind::vector || type.kind == Kind::predicate;
      if (is_new) it->second = add(type, wide ? longest_vector : bytes(type));
      index_[v] = it->second;
    }
  }

  void lay_out() {
    size_t offset = 0;
    auto add_kinds = [&](auto wanted) {
      for (Room& room : rooms_) {
        if (!wanted(room.kind)) continue;
        room.offset = offset;
        offset += (room.bytes + 7) / 8 * 8;
      }
    };
    add_kinds([](Kind kind) { return kind == Kind::scalar; });
    prepared_->vectors_begin = offset;
    add_kinds([](Kind kind) { return kind == Kind::vector || kind == Kind::predicate; });
    prepared_->tiles_begin = offset;
    add_kinds([](Kind kind) { return kind == Kind::tile; });
    prepared_->bytes.assign(offset, 0xCD);
  }

  Storage place(size_t room, Type type) {
    return {prepared_->bytes.data() + rooms_[room].offset, bytes(type), type.kind, rows(type)};
  }
  Storage place(Value v) { return place(index_[static_cast<size_t>(v)], program_.type(v)); }

  /// A place for a value that exists only inside of a row, or while values are being exchanged.
  Storage inner(Type type) {
    if (!prepared_->bytes.empty()) return place(inner_++, type);
    size_t room = add(type);
    return place(room, type);
  }

  std::vector<Step> region(const Region& region) {
    std::vector<Step> steps;
    for (const Node& node : region.nodes) {
      std::visit([&](const auto& it) { visit(it, steps); }, node);
    }
    return steps;
  }

  Step step(const Op& op, const OperationUse& use) const {
    Step step;
    step.code = use.code;
    step.bits = use.bits;
    step.imm = use.imm;
    step.offset = use.offset.at(vl_);
    step.op = &op;
    if (op.row != nullptr) step.mode = op.row->mode;
    return step;
  }

  void visit(const Op& op, std::vector<Step>& steps) {
    if (op.row != nullptr) return row(op, steps);
    Step plain = step(op, {op.code, op.bits, op.offset, op.imm, {}, {}});
    for (Value v : op.args) plain.arg[plain.arg_count++] = place(v);
    if (!op.results.empty()) plain.to = place(op.results[0]);
    plain.operations = 1;
    steps.push_back(std::move(plain));
  }

  /// Looked up in the first walk; the second meets the same rows in the same order.
  const std::vector<RowStep>& meaning_of(const Op& op) {
    if (prepared_->bytes.empty()) {
      meanings_.push_back(row_steps(program_, op));
      return meanings_.back();
    }
    return meanings_[next_meaning_++];
  }

  /// Results of a row of several operations are written when all of them are done, as an
  /// instruction does.
  void row(const Op& op, std::vector<Step>& steps) {
    size_t first = steps.size();
    const std::vector<RowStep>& meaning = meaning_of(op);
    std::vector<Storage> made(meaning.size());
    std::vector<Storage> operands;
    for (size_t i = 0; i < op.row->operands.size(); ++i) {
      operands.push_back(place(operand_value(op, i)));
    }
    std::vector<Move> results;
    for (size_t i = 0; i < meaning.size(); ++i) {
      const RowStep& part = meaning[i];
      Step one = step(op, part.use);
      for (RowArg arg : part.args) {
        one.arg[one.arg_count++] = arg.node >= 0 ? made[static_cast<size_t>(arg.node)]
                                                 : operands[static_cast<size_t>(arg.operand)];
      }
      if (!part.use.results.empty()) {
        bool direct = part.result >= 0 && meaning.size() == 1;
        auto result = static_cast<size_t>(part.result);
        made[i] = direct ? operands[result] : inner(part.use.results[0]);
        if (part.result >= 0 && !direct) {
          results.push_back({made[i], operands[result]});
          operands[result] = made[i];  // what later operations of this row read
        }
        one.to = made[i];
      }
      steps.push_back(std::move(one));
    }
    for (const Move& move : results) steps.push_back(move_step(op, move));
    if (steps.size() > first) steps[first].operations = 1;
  }

  static Step move_step(const Op& op, const Move& move) {
    Step step;
    step.code = OpCode::copy;
    step.op = &op;
    step.to = move.to;
    step.arg[step.arg_count++] = move.from;
    return step;
  }

  void visit(const std::unique_ptr<Loop>& loop, std::vector<Step>& steps) {
    Step step;
    step.loop = std::make_unique<PreparedLoop>();
    PreparedLoop& to = *step.loop;
    to.loop = loop.get();
    to.count = place(loop->count);
    to.step = static_cast<uint64_t>(loop->step.at(vl_));
    if (loop->counter != no_value) to.counter = place(loop->counter);
    if (!physical_) {
      std::vector<Move> taken;
      for (size_t i = 0; i < loop->inits.size(); ++i) {
        Storage param = place(loop->params[i]);
        Storage between = inner(program_.type(loop->params[i]));
        to.enter.push_back({place(loop->inits[i]), param});
        // All yields are read before any param is written: loops may exchange values.
        to.again.push_back({place(loop->yields[i]), between});
        taken.push_back({between, param});
        to.leave.push_back({param, place(loop->results[i])});
      }
      to.again.insert(to.again.end(), taken.begin(), taken.end());
    }
    to.body = region(loop->body);
    steps.push_back(std::move(step));
  }

  void visit(const std::unique_ptr<If>& branch, std::vector<Step>& steps) {
    Step step;
    step.branch = std::make_unique<PreparedIf>();
    step.branch->compare = branch->compare;
    step.branch->a = place(branch->a);
    step.branch->b = place(branch->b);
    step.branch->then_body = region(branch->then_body);
    step.branch->else_body = region(branch->else_body);
    steps.push_back(std::move(step));
  }

  const Program& program_;
  VectorLength vl_;
  bool physical_ = false;
  std::unique_ptr<Prepared> prepared_;
  std::vector<size_t> index_;  ///< value -> room
  std::vector<Room> rooms_;
  size_t first_inner_ = 0, inner_ = 0;  ///< rooms that no value has
  std::vector<std::vector<RowStep>> meanings_;
  size_t next_meaning_ = 0;
};

}  // namespace

std::unique_ptr<Prepared> prepare(const Program& program, VectorLength vl, bool physical) {
  return Preparer(program, vl, physical).prepare();
}

}  // namespace tw
